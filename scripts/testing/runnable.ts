import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** A program as Node runs it. */
export interface Runnable {
  readonly file: string
  readonly execArgv: readonly string[]
}

const root = resolve(import.meta.dirname, '..', '..')

/** Arguments for Node with which a test run starts a program, see quick-start.mjs; none outside a test run, such as in a benchmark. */
export function quickStart(): readonly string[] {
  const module = join(root, 'scripts', 'testing', 'quick-start.mjs')
  return process.env.TEST_COMPILED === undefined ? [] : ['--import', pathToFileURL(module).href]
}

/** Returns a program of the tests: its compiled form in a test run, see scripts/compile.ts; otherwise its source, with tsx. */
export function runnable(source: URL): Runnable {
  const file = fileURLToPath(source)
  const { TEST_COMPILED: compiled } = process.env
  if (compiled === undefined) return { file, execArgv: ['--import', 'tsx'] }
  return {
    file: join(compiled, relative(root, file).replace(/\.ts$/, '.js')),
    execArgv: quickStart(),
  }
}
