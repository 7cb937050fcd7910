import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, extname, join, posix, relative, sep } from 'node:path'
import { configErrors } from '../../config/errors.js'
import { findConfig } from '../../config/load.js'
import { type Command, defineCommand } from '../../host/command.js'
import { cliErrors, UsageError } from '../errors.js'
import { type FileKind, fileKinds, foldersOf, isTakenName, madeFiles } from '../file-templates.js'
import { pluginNamePattern } from '../plugin-template.js'

/**
 * `make:route`, `make:processor`, `make:migration`, `make:command` and `make:test`.
 *
 * @param commandNames names that no command of an app may have.
 */
export function makeFileCommands(commandNames: () => readonly string[]): readonly Command[] {
  return fileKinds.map((kind) => makeFileCommand(kind, commandNames))
}

function makeFileCommand(kind: FileKind, commandNames: () => readonly string[]): Command {
  return defineCommand({
    name: `make:${kind}`,
    summary: kind === 'test' ? 'Create a test of the app in tests/<name>' : `Create a ${kind} with a test in ${foldersOf[kind]}/<name>`,
    needs: 'nothing',
    args: [{ name: 'name', summary: 'kebab-case: late-orders, or in a folder: shop/late-orders' }],
    async run({ args, cwd, print }) {
      // The ids of migrations have underscores.
      const path = kind === 'migration' ? (args.name ?? '').replaceAll('_', '-') : (args.name ?? '')
      const parts = path.split('/')
      if (path.length > 60 || parts.length > 4 || !parts.every((part) => pluginNamePattern.test(part))) throw cliErrors.ZIN_FILE_NAME(path)
      const name = parts.at(-1) as string
      if (isTakenName(kind, name))
        throw new UsageError(`a ${kind} cannot be named "${name}": its code imports that identifier; choose another name`)
      if (kind === 'command' && commandNames().includes(parts.join(':')))
        throw new UsageError(`"${parts.join(':')}" is a command of Zin; choose another name`)
      const found = await findConfig(cwd)
      if (found === undefined) throw configErrors.ZIN_CONFIG_MISSING(cwd)
      const { rootDir } = found
      const folder = join(rootDir, foldersOf[kind], ...parts.slice(0, -1))
      const file = kind === 'migration' ? await numbered(join(rootDir, foldersOf[kind]), parts) : name
      const { code, listed, test } = madeFiles(kind, { path, name, file, config: configFrom(folder, found.file) })
      // A configuration in JavaScript has no types that a test in TypeScript could import.
      const ofTest = kind === 'test' && extname(found.file) !== '.ts' ? 'mjs' : 'ts'
      const files = [...(code === undefined ? [] : [{ name: `${file}.ts`, text: code }]), { name: `${file}.test.${ofTest}`, text: test }]
      await mkdir(folder, { recursive: true })
      for (const one of files) await refuseExisting(folder, one.name)
      for (const one of files) await writeNew(join(folder, one.name), one.text)
      const at = (fileName: string): string => relative(rootDir, join(folder, fileName)).split(sep).join('/')
      for (const one of files) print.line(`created ${at(one.name)}`)
      if (listed !== undefined) {
        print.line(`Add it to ${basename(found.file)}:`)
        print.line(`  import { ${listed.imports} } from './${at(file)}.js'`, { verbatim: true })
        print.line(`  ${listed.list}`)
      }
      if (kind === 'processor') print.line(`Name it in a worker: processor: '${at(file)}.ts'`)
      print.line(`${listed === undefined ? 'Run' : 'and run'} its test: npx zin test ${at(`${file}.test.${ofTest}`)}`)
    },
  })
}

/** `shop/orders` → `0003-orders`, if there are two migrations. Throws ZIN_FILE_EXISTS if its folder has one of this name. */
async function numbered(root: string, parts: readonly string[]): Promise<string> {
  const wanted = parts.join('/')
  const numbers = (await namesIn(root, true)).flatMap((one) => {
    const [, folder = '', number, rest] = /^(.*\/)?(\d+)-([^/]+?)\.[cm]?[jt]s$/.exec(one.split(sep).join('/')) ?? []
    if (`${folder}${rest}` === wanted) throw cliErrors.ZIN_FILE_EXISTS(join(root, one))
    return number === undefined ? [] : [Number(number)]
  })
  return `${String(Math.max(0, ...numbers) + 1).padStart(4, '0')}-${parts.at(-1)}`
}

async function namesIn(folder: string, recursive = false): Promise<readonly string[]> {
  return readdir(folder, { recursive }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

async function refuseExisting(folder: string, name: string): Promise<void> {
  if ((await namesIn(folder)).includes(name)) throw cliErrors.ZIN_FILE_EXISTS(join(folder, name))
}

async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? cliErrors.ZIN_FILE_EXISTS(file) : error
  })
}

/** The import of the configuration in a file of a folder, as Node resolves it. */
function configFrom(folder: string, config: string): string {
  const path = relative(folder, config).split(sep).join(posix.sep)
  return path.replace(/\.ts$/, '.js').replace(/\.mts$/, '.mjs')
}
