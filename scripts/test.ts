// Runs the checks (with --checks) and all tests, those whose path contains an argument, or those that a change can break (--changed).
// Started by test.mjs.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createConnection } from 'mysql2/promise'
import { changesSince, choose } from './changed.js'
import { compile } from './compile.js'
import { digestOf, repositoryFiles, unlessPassed } from './passed.js'
import { type Batch, type FileResult, type RunOptions, runBatch, runJobs } from './run-tests.js'
import { findBrowser } from './servers.mjs'
import { memoryFolder, type Services, startServices } from './services.js'
import { allTestFiles, groups, lastSeconds, needsBrowser, needsServices, rememberSeconds } from './test-files.js'

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { checks: { type: 'boolean' }, embedded: { type: 'boolean' }, changed: { type: 'string' } },
})
const atOnce = { least: 2, most: 4 }
/** If more files fail, something is broken, and running them again reveals nothing new. */
const mostRunAgain = 3

/** What a run consists of. */
interface Plan {
  readonly files: readonly string[]
  readonly checks: readonly Check[]
}

interface Check {
  readonly name: string
  /** Programs with their arguments, until one fails. */
  readonly commands: readonly (readonly [program: string, ...args: string[]])[]
}

const fullCheck = (name: string): Check => ({ name, commands: [['npm', 'run', '--silent', name]] })
const fullChecks = ['lint', 'typecheck', 'check'].map(fullCheck)

function plan(): Plan {
  const all = allTestFiles()
  if (options.changed !== undefined) return planFor(all, options.changed)
  const chosen = all.filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  const files = chosen.filter((file) => !options.embedded || !(needsServices(file) || needsBrowser(file)))
  return { files, checks: options.checks ? fullChecks : [] }
}

/** The test files that a change since a revision can break, and the checks; prints which are left out. */
function planFor(all: readonly string[], revision: string): Plan {
  const changed = changesSince(revision)
  const { chosen, tooFar, unaffected, nearby } = choose(all, changed, lastSeconds())
  console.log(`Changed since ${revision}: ${changed.length === 0 ? 'nothing' : changed.join(', ')}`)
  console.log(`Running ${chosen.length} of ${all.length} test files. Left out: ${unaffected} that need nothing of what changed.`)
  if (tooFar.length > 0) {
    console.log(`Also left out, because they need it only through other parts; npm test runs them:\n  ${tooFar.join('\n  ')}`)
  }
  if (nearby === undefined) return { files: chosen, checks: fullChecks }
  const linted = nearby.filter((file) => /^(core|plugins|scripts)\/.*\.tsx?$/.test(file))
  const commands: Check['commands'] = [
    ['node_modules/.bin/biome', 'check'],
    ['node_modules/.bin/oxlint', '--type-aware', '--deny-warnings', ...linted],
    ['node_modules/.bin/depcruise', ...linted],
  ]
  const lint = { name: `lint of ${linted.length} files`, commands: linted.length === 0 ? commands.slice(0, 1) : commands }
  return { files: chosen, checks: [lint, fullCheck('typecheck'), fullCheck('check')] }
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
async function runCheck({ name, commands }: Check, digest: string | undefined, signal: AbortSignal): Promise<boolean> {
  const startedAt = Date.now()
  let ran = false
  let report = ''
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
  [program, ...args]: readonly [string, ...string[]],
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

/**
 * Runs each failed file once more, alone. If it passes then, it depends on what else runs: its failures are reported as flaky, which shows
 * where to look.
 */
async function runFailedAgain(
  results: readonly FileResult[],
  services: Services | undefined,
  run: RunOptions,
): Promise<readonly FileResult[]> {
  const failed = results.filter(({ failures }) => failures.length > 0)
  if (failed.length > mostRunAgain) return results
  const again = new Map<FileResult, FileResult>()
  for (const [index, first] of failed.entries()) {
    if (run.signal.aborted) break
    const [second] = await runBatch(await batchOf([first.file], services, results.length + index + 1), run)
    if (second === undefined) continue
    show(second)
    again.set(first, second.failures.length > 0 ? second : { ...second, flaky: first.failures })
  }
  return results.map((result) => again.get(result) ?? result)
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
  for (const name of failedChecks) console.log(`✗ npm run ${name}`)
  const tests = results.reduce((sum, result) => sum + result.tests, 0)
  const counts = [`${tests} tests in ${results.length} files`, `${failures.length} failed`]
  console.log(`${[...counts, ...(flaky.length > 0 ? [`${flaky.length} flaky`] : [])].join(', ')}, ${seconds(Date.now() - startedAt)}`)
  for (const { file, title } of flaky) console.log(`~ flaky (failed beside other files, passed alone): ${file}: ${title}`)
  return failures.length === 0 && failedChecks.length === 0 && (flaky.length === 0 || process.env.CI === 'true')
}

async function main(): Promise<number> {
  const startedAt = Date.now()
  const { files, checks } = plan()
  if (files.length === 0 && options.changed === undefined) {
    console.error(wanted.length === 0 ? 'No test files found' : `No test file has a path that contains ${wanted.join(' or ')}`)
    return 1
  }
  const abort = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort(signal))
  const failedChecks: string[] = []
  const sources = checks.length === 0 ? undefined : repositoryFiles()
  const digest = sources === undefined ? undefined : digestOf(sources)
  const check = (one: Check) => async (): Promise<void> => {
    if (!(await runCheck(one, digest, abort.signal))) failedChecks.push(one.name)
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
    const batches = await Promise.all(groups(files, lastSeconds()).map((group, index) => batchOf(group, services, index + 1)))
    const test = (batch: Batch) => async (): Promise<void> => {
      const done = await runBatch(batch, run)
      if (abort.signal.aborted) return
      for (const result of done) show(result)
      results = [...results, ...done]
    }
    await runJobs([...checks.map(check), ...batches.map(test)], atOnce, abort.signal)
    const passed = results.filter(({ failures }) => failures.length === 0)
    rememberSeconds(new Map(passed.map(({ file, ms }) => [file, Math.round(ms / 100) / 10])))
    results = await runFailedAgain(results, services, run)
  } finally {
    await services?.stop()
    compiled?.remove()
    rmSync(scratch, { recursive: true, force: true })
  }
  if (abort.signal.aborted) return 130
  return summary(results, failedChecks, startedAt) ? 0 : 1
}

process.exitCode = await main()
