import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { configErrors } from '../../config/errors.js'
import { findConfig } from '../../config/load.js'
import { locateTsx } from '../../config/tsx.js'
import { defineCommand } from '../../host/command.js'
import { cliErrors } from '../errors.js'
import { zinPackage } from '../package-root.js'

const testName = /\.test\.(c|m)?[jt]s$/
const skipped: ReadonlySet<string> = new Set(['node_modules', 'dist', 'build'])

export const testCommand = defineCommand({
  name: 'test',
  summary: 'Run the tests of the app and its plugins with node:test: all *.test.ts and *.test.js in its folder',
  needs: 'nothing',
  args: [{ name: 'path', summary: 'only files whose path contains this', required: false }],
  async run({ args, cwd, signal }) {
    const found = await findConfig(cwd)
    if (found === undefined) throw configErrors.ZIN_CONFIG_MISSING(cwd)
    const { rootDir: root } = found
    const files = (await testsIn(root)).map((file) => relative(root, file)).filter((file) => file.includes(args.path ?? ''))
    if (files.length === 0) {
      const which = args.path === undefined ? '' : ` whose path contains "${args.path}"`
      throw cliErrors.ZIN_COMMAND_FAILED(`there is no test in ${root}${which}: no file is named *.test.ts or *.test.js`)
    }
    const typescript = files.some((file) => file.endsWith('ts')) ? ['--import', locateTsx(join(root, 'package.json')).loader] : []
    const ended = pathToFileURL(join(zinPackage().root, 'dist', 'core', 'cli', 'tests-ended.js')).href
    const child = spawn(process.execPath, [...typescript, '--import', ended, '--test', ...files], { cwd: root, stdio: 'inherit' })
    const stop = (): void => void child.kill()
    signal.addEventListener('abort', stop, { once: true })
    const [code] = (await once(child, 'close')) as [number | null]
    signal.removeEventListener('abort', stop)
    return code ?? 1
  },
})

/** Hidden folders hold data and caches. */
async function testsIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const found = await Promise.all(
    entries.map(async (entry): Promise<readonly string[]> => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return skipped.has(entry.name) || entry.name.startsWith('.') ? [] : testsIn(path)
      return testName.test(entry.name) ? [path] : []
    }),
  )
  return found.flat().sort()
}
