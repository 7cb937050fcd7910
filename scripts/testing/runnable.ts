import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** A program as Node runs it. */
export interface Runnable {
  readonly file: string
  readonly execArgv: readonly string[]
}

const root = resolve(import.meta.dirname, '..', '..')

/** A program of the tests: what the test run has compiled it to, see scripts/compile.ts; else its source, with tsx. */
export function runnable(source: URL): Runnable {
  const file = fileURLToPath(source)
  const { TEST_COMPILED: compiled } = process.env
  if (compiled === undefined) return { file, execArgv: ['--import', 'tsx'] }
  const quickStart = pathToFileURL(join(root, 'scripts', 'testing', 'quick-start.mjs')).href
  return {
    file: join(compiled, relative(root, file).replace(/\.ts$/, '.js')),
    execArgv: ['--enable-source-maps', '--import', quickStart],
  }
}
