import { relative, resolve, sep } from 'node:path'
import { ZinError } from '../../errors.js'
import { defineCommand } from '../command.js'
import { zinPackage } from '../package-root.js'
import { type ExampleName, exampleNames, scaffold } from '../scaffold.js'
import { UsageError } from '../usage-error.js'

export const newCommand = defineCommand({
  name: 'new',
  summary: 'Make an app from an example',
  needs: 'nothing',
  args: [{ name: 'dir', summary: 'folder of the app; made when missing, must be empty', required: false }],
  options: { example: { type: 'string', summary: 'Where to begin', values: exampleNames, default: 'full' } },
  async run({ args, options, cwd, print, signal }) {
    const dir = args.dir ?? (await askForFolder(signal))
    const target = resolve(cwd, dir)
    const { hasKeys } = await scaffold({ target, example: options.example as ExampleName, zin: zinPackage() })
    const folder = relative(cwd, target) || '.'
    print.line(`Made ${folder} from the example "${options.example}". Next:`)
    if (folder !== '.') print.line(`  cd ${quoted(folder)}`)
    print.line('  npm install')
    print.line('  npm run dev      start it and restart it on changes')
    print.line('  npm test         run its tests')
    if (hasKeys) print.line('Its keys are in .env, which belongs in no repository.')
  },
})

/** A word for a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text.replaceAll(sep, '/')) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

async function askForFolder(signal: AbortSignal): Promise<string> {
  if (!process.stdin.isTTY) throw new UsageError('missing argument <dir>: the folder of the app')
  // Loaded here: only a question needs it.
  const { isCancel, text } = await import('@clack/prompts')
  const answer = await text({
    message: 'In which folder shall the app be made?',
    placeholder: 'my-app',
    signal,
    validate: (given) => ((given ?? '').trim() === '' ? 'Name a folder' : undefined),
  })
  if (isCancel(answer)) throw new ZinError('ZIN_ABORTED', 'nothing was made')
  return answer.trim()
}
