import { relative, resolve, sep } from 'node:path'
import { type Dialog, defineCommand } from '../../host/command.js'
import { cliErrors, UsageError } from '../errors.js'
import { zinPackage } from '../package-root.js'
import { type ExampleName, exampleNames, scaffold } from '../scaffold.js'

export const newCommand = defineCommand({
  name: 'new',
  summary: 'Create an app from an example',
  needs: 'nothing',
  args: [{ name: 'dir', summary: 'folder of the app; created if missing, must be empty except for .git', required: false }],
  options: {
    example: { type: 'string', summary: 'Example to start from; default: ask on a terminal, otherwise full', values: exampleNames },
  },
  async run({ args, options, cwd, dialog, print, signal }) {
    const dir = args.dir ?? (await askForFolder(dialog, signal))
    const example = (options.example as ExampleName | undefined) ?? (await askForExample(dialog, signal))
    const target = resolve(cwd, dir)
    const { hasKeys, scripts } = await scaffold({ target, example, zin: zinPackage() })
    const folder = relative(cwd, target) || '.'
    print.line(`Created ${folder} from the example "${example}". Next:`)
    if (folder !== '.') print.line(`  cd ${quoted(folder)}`)
    print.line('  npm install')
    print.line('  npm run dev      start it, and restart it on changes')
    if (scripts.includes('test')) print.line('  npm test         run its tests')
    else if (scripts.includes('tour')) print.line('  npm run tour     see what it does')
    if (hasKeys) print.line('Its keys are in .env; do not commit it.')
  },
})

/** Quotes a word for a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text.replaceAll(sep, '/')) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

async function askForFolder(dialog: Dialog | undefined, signal: AbortSignal): Promise<string> {
  if (dialog === undefined) throw new UsageError('missing argument <dir>: the folder of the app')
  // Imported lazily: only prompts need it.
  const { text } = await import('@clack/prompts')
  const answer = await text({
    message: 'In which folder should the app be created?',
    placeholder: 'my-app',
    ...dialog,
    signal,
    validate: (given) => ((given ?? '').trim() === '' ? 'Enter a folder' : undefined),
  })
  return answered(answer).trim()
}

const hints: Readonly<Record<ExampleName, string>> = {
  minimal: 'one route; no database, no key',
  'web-api': 'a shop: tables, login, uploads, live updates, jobs',
  full: 'login, signed requests, workers, health',
  'custom-plugin': 'workers, and a plugin of your own',
  edge: 'a database at the edge, behind a signed proxy',
  microservice: 'services behind a gateway, in one trace',
}

async function askForExample(dialog: Dialog | undefined, signal: AbortSignal): Promise<ExampleName> {
  if (dialog === undefined) return 'full'
  const { select } = await import('@clack/prompts')
  const options = exampleNames.map((value) => ({ value, label: value, hint: hints[value] }))
  return answered<ExampleName>(
    await select({ message: 'Which example should it start from?', options, initialValue: 'full', ...dialog, signal }),
  )
}

function answered<T extends string>(answer: T | symbol): T {
  if (typeof answer === 'symbol') throw cliErrors.ZIN_ABORTED('nothing was created')
  return answer
}
