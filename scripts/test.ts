// Runs the checks (with --checks) and all tests, those whose path contains an argument, or those that a change can break (--changed).
// Started by test.mjs.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createConnection } from 'mysql2/promise'
import { changesSince, choose, UnknownRevision } from './changed.js'
import { compile } from './compile.js'
import { digestOf, repositoryFiles, unlessPassed } from './passed.js'
import { type Batch, type FileResult, type RunOptions, runBatch, runJobs } from './run-tests.js'
import { findBrowser } from './servers.mjs'
import { memoryFolder, type Services, startServices } from './services.js'
import { allTestFiles, groups, lastSeconds, needsBrowser, needsServices, rememberSeconds } from './test-files.js'

const { options, wanted } = commandLine()
const atOnce = { least: 2, most: 4 }
/** If more files fail, something is broken, and running them again reveals nothing new. */
const mostRunAgain = 3

function commandLine() {
  try {
    const types = { checks: { type: 'boolean' }, embedded: { type: 'boolean' }, changed: { type: 'string' } } as const
    const { values, positionals } = parseArgs({ allowPositionals: true, options: types })
    return { options: values, wanted: positionals }
  } catch (error) {
    return refuse(error)
  }
}

function refuse(error: unknown): never {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`)
  process.exit(2)
}

/** What a run consists of. */
interface Plan {
  readonly files: readonly string[]
  readonly checks: readonly Check[]
}

interface Check {
  readonly name: string
  /** Programs with their arguments, until one fails. */
  readonly commands: readonly (readonly [program: string, ...args: readonly string[]])[]
  /** The files that it checks; undefined for all. */
  readonly of?: readonly string[]
}

const fullCheck = (name: string): Check => ({ name, commands: [['npm', 'run', '--silent', name]] })
const fullChecks = ['lint', 'typecheck', 'check'].map(fullCheck)

function planned(): Plan {
  try {
    return plan()
  } catch (error) {
    if (error instanceof UnknownRevision) refuse(error)
    throw error
  }
}

function plan(): Plan {
  const runs = (file: string): boolean =>
    (wanted.length === 0 || wanted.some((part) => file.includes(part))) &&
    !(options.embedded && (needsServices(file) || needsBrowser(file)))
  const all = allTestFiles().filter(runs)
  const { files, checks } = options.changed === undefined ? { files: all, checks: fullChecks } : planFor(all, options.changed)
  return { files, checks: options.checks ? checks : [] }
}

/** The test files that a change since a revision can break, and the checks; prints which are left out. */
function planFor(all: readonly string[], revision: string): Plan {
  const changed = changesSince(revision)
  const { chosen, tooFar, unaffected, unknown, nearby } = choose(all, changed, lastSeconds())
  console.log(`Changed since ${revision}: ${changed.length === 0 ? 'nothing' : changed.join(', ')}`)
  if (unknown.length > 0) console.log(`No test is known to need these, so that all tests beside them are affected: ${unknown.join(', ')}`)
  console.log(`Running ${chosen.length} of ${all.length} test files. Left out: ${unaffected} that need nothing of what changed.`)
  if (tooFar.length > 0) console.log(`Also left out, because others are nearer; npm test runs them:\n  ${tooFar.join('\n  ')}`)
  return { files: chosen, checks: nearby === undefined ? fullChecks : [lintOf(nearby), fullCheck('typecheck'), fullCheck('check')] }
}

function lintOf(files: readonly string[]): Check {
  const linted = files.filter((file) => /^(core|plugins|scripts|examples)\/.*\.(tsx?|m?js)$/.test(file))
  const ruled = linted.filter((file) => !file.startsWith('examples/'))
  return {
    name: 'lint of what changed',
    of: linted,
    commands: [
      ['node_modules/.bin/biome', 'check'],
      ...(linted.length > 0 ? [['node_modules/.bin/oxlint', '--type-aware', '--deny-warnings', ...linted] as const] : []),
      ...(ruled.length > 0 ? [['node_modules/.bin/depcruise', ...ruled] as const] : []),
    ],
  }
}

/** Files that use servers share databases with those of their process only; files that use a browser get its path. */
async function batchOf(files: readonly string[], services: Services | undefined, index: number): Promise<Batch> {
  return {
    files,
    env: {
      ...(services && files.some(needsServices) ? await databases(services, index) : {}),
      ...(files.some(needsBrowser) ? { TEST_CHROMIUM: findBrowser() ?? '' } : {}),
    },
  }
}

async function databases(services: Services, index: number): Promise<Record<string, string>> {
  const name = `zin_test_${index}`
  const connection = await createConnection(services.mysqlUrl)
  await connection.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
  await connection.end()
  return { TEST_REDIS_URL: `${services.redisUrl}/${index}`, TEST_MYSQL_URL: `${services.mysqlUrl}/${name}` }
}

/** Runs a check unless it passed with the same files before. Resolves to whether it passed. */
async function runCheck({ name, commands, of = [] }: Check, sources: readonly string[] | undefined, signal: AbortSignal): Promise<boolean> {
  const startedAt = Date.now()
  let ran = false
  let report = ''
  const digest = sources && digestOf(sources, of)
  const passed = await unlessPassed(name, digest, async () => {
    ran = true
    for (const command of commands) {
      const { ok, output } = await execute(command, signal)
      report = output
      if (!ok) return false
    }
    return true
  })
  console.log(`${passed ? '✓' : '✗'} ${name} ${ran ? seconds(Date.now() - startedAt) : 'passed before with the same files'}`)
  if (!passed) console.log(report)
  return passed
}

function execute(
  [program, ...args]: readonly [string, ...(readonly string[])],
  signal: AbortSignal,
): Promise<{ readonly ok: boolean; readonly output: string }> {
  const settings = { signal, maxBuffer: 2 ** 26, shell: process.platform === 'win32' }
  return new Promise((resolve) => {
    execFile(program, args, settings, (error, stdout, stderr) => resolve({ ok: error === null, output: stdout + stderr }))
  })
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

function show(result: FileResult): void {
  console.log(`${result.failures.length === 0 ? '✓' : '✗'} ${result.file} (${result.tests} tests, ${seconds(result.ms)})`)
  for (const { title, text } of result.failures) console.log(`  ✗ ${title}\n${indented(text)}`)
}

const indented = (text: string): string => text.replaceAll(/^/gm, '    ')

function showSlowest(results: readonly FileResult[]): void {
  const files = results.map(({ file, ms }) => ({ ms, name: file }))
  const tests = results.flatMap(({ file, slowest }) => slowest.map(({ title, ms }) => ({ ms, name: `${file}: ${title}` })))
  for (const [what, rows] of [
    ['files', files],
    ['tests', tests],
  ] as const) {
    console.log(`\nSlowest ${what}:`)
    for (const { ms, name } of rows.sort((a, b) => b.ms - a.ms).slice(0, 10)) console.log(`${seconds(ms).padStart(8)}  ${name}`)
  }
  console.log('')
}

/** Runs batches, each with databases of its own. */
class Runner {
  readonly #services: Services | undefined
  readonly #options: RunOptions
  #databases = 0

  constructor(services: Services | undefined, options: RunOptions) {
    this.#services = services
    this.#options = options
  }

  /** Shows and returns the result of each file; none once the signal is aborted. */
  async run(files: readonly string[]): Promise<readonly FileResult[]> {
    this.#databases += 1
    const results = await runBatch(await batchOf(files, this.#services, this.#databases), this.#options)
    if (this.#options.signal.aborted) return []
    for (const result of results) if (!result.notRun) show(result)
    return results
  }

  /** Runs files, those that a process left when it ended early alone. */
  async runAll(files: readonly string[], checks: readonly (() => Promise<void>)[]): Promise<readonly FileResult[]> {
    const results: FileResult[] = []
    const run = (files: readonly string[]) => async () => void results.push(...(await this.run(files)))
    await runJobs([...checks, ...groups(files, lastSeconds()).map(run)], atOnce, this.#options.signal)
    const left = results.filter(({ notRun }) => notRun)
    await runJobs(
      left.map(({ file }) => run([file])),
      atOnce,
      this.#options.signal,
    )
    return results.filter((result) => !left.includes(result))
  }

  /**
   * Runs each failed file once more, alone. If it passes then, it depends on what else runs: its failures are reported as flaky, which shows
   * where to look.
   */
  async runFailedAgain(results: readonly FileResult[]): Promise<readonly FileResult[]> {
    const failed = results.filter(({ failures }) => failures.length > 0)
    if (failed.length > mostRunAgain) return results
    const again = new Map<FileResult, FileResult>()
    for (const first of failed) {
      const [second] = await this.run([first.file])
      if (second !== undefined) again.set(first, second.failures.length > 0 ? second : { ...second, flaky: first.failures })
    }
    return results.map((result) => again.get(result) ?? result)
  }
}

/**
 * Returns whether the run counts as passed. Flaky tests fail it for whoever works on the code. Under CI they do not, so that one unlucky
 * moment does not hold back a change: their names are the last lines.
 */
function summary(results: readonly FileResult[], failedChecks: readonly string[], startedAt: number): boolean {
  showSlowest(results)
  const flaky = results.flatMap(({ file, flaky = [] }) => flaky.map((failure) => ({ file, ...failure })))
  const failures = results.flatMap(({ file, failures }) => failures.map((failure) => ({ file, ...failure })))
  for (const { file, title, text } of flaky) console.log(`~ ${file}: ${title}\n${indented(text)}`)
  for (const { file, title, text } of failures) console.log(`✗ ${file}: ${title}\n${indented(text)}`)
  for (const name of failedChecks) console.log(`✗ ${name}`)
  const tests = results.reduce((sum, result) => sum + result.tests, 0)
  const counts = [`${tests} tests in ${results.length} files`, `${failures.length} failed`]
  console.log(`${[...counts, ...(flaky.length > 0 ? [`${flaky.length} flaky`] : [])].join(', ')}, ${seconds(Date.now() - startedAt)}`)
  for (const { file, title } of flaky) console.log(`~ flaky (failed beside other files, passed alone): ${file}: ${title}`)
  return failures.length === 0 && failedChecks.length === 0 && (flaky.length === 0 || process.env.CI === 'true')
}

async function main(): Promise<number> {
  const startedAt = Date.now()
  const { files, checks } = planned()
  if (files.length === 0 && options.changed === undefined) {
    console.error(wanted.length === 0 ? 'No test files found' : `No test file has a path that contains ${wanted.join(' or ')}`)
    return 1
  }
  const abort = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort(signal))
  const failedChecks: string[] = []
  const sources = checks.length === 0 ? undefined : repositoryFiles()
  const check = (one: Check) => async (): Promise<void> => {
    if (!(await runCheck(one, sources, abort.signal))) failedChecks.push(one.name)
  }
  // Coverage is counted by source file.
  const compiled = process.env.NODE_V8_COVERAGE === undefined ? await compile() : undefined
  // For the files of stores and apps, which have never needed a gigabyte.
  const scratch = mkdtempSync(join(memoryFolder({ leastMb: 1024 }), 'zin-tests-'))
  const run = { compiled, env: { TMPDIR: scratch }, signal: abort.signal }
  let services: Services | undefined
  let results: readonly FileResult[] = []
  try {
    if (files.some(needsServices)) services = await startServices()
    const runner = new Runner(services, run)
    results = await runner.runAll(files, checks.map(check))
    const passed = results.filter(({ failures }) => failures.length === 0)
    rememberSeconds(new Map(passed.map(({ file, ms }) => [file, Math.round(ms / 100) / 10])))
    results = await runner.runFailedAgain(results)
  } finally {
    await services?.stop()
    compiled?.remove()
    rmSync(scratch, { recursive: true, force: true })
  }
  if (abort.signal.aborted) return 130
  return summary(results, failedChecks, startedAt) ? 0 : 1
}

process.exitCode = await main()
