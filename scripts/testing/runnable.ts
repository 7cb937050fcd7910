import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** A program as Node runs it. */
export interface Runnable {
  readonly file: string
  readonly execArgv: readonly string[]
}

const root = resolve(import.meta.dirname, '..', '..')

/** Arguments of Node for a program that a test run starts, see quick-start.mjs; none outside of one, where a benchmark may be what starts it. */
export function quickStart(): readonly string[] {
  const module = join(root, 'scripts', 'testing', 'quick-start.mjs')
  return process.env.TEST_COMPILED === undefined ? [] : ['--import', pathToFileURL(module).href]
}

/** A program of the tests: what the test run has compiled it to, see scripts/compile.ts; else its source, with tsx. */
export function runnable(source: URL): Runnable {
  const file = fileURLToPath(source)
  const { TEST_COMPILED: compiled } = process.env
  if (compiled === undefined) return { file, execArgv: ['--import', 'tsx'] }
  return {
    file: join(compiled, relative(root, file).replace(/\.ts$/, '.js')),
    execArgv: ['--enable-source-maps', ...quickStart()],
  }
}
