// Runs the checks (with --checks) and all tests, or those whose path contains an argument. Started by test.mjs.
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { compile } from './compile.js'
import { type Batch, type FileResult, runBatches } from './run-tests.js'
import { findBrowser } from './servers.mjs'
import { memoryFolder, type Services, startServices } from './services.js'

const args = process.argv.slice(2)
const wanted = args.filter((arg) => !arg.startsWith('-'))
const embedded = args.includes('--embedded')
const processesAtOnce = 2
const filesPerProcess = 12
/** If more files fail, something is broken, and running them again reveals nothing new. */
const mostRunAgain = 3

/** Paths of test files, `/`-separated and relative to the root of the repository. */
function testFiles(): readonly string[] {
  const all = ['core', 'plugins', 'scripts'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => join(folder, name).replaceAll('\\', '/')),
  )
  const chosen = all.filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  return chosen.filter((file) => !embedded || !(isServices(file) || isBrowser(file))).sort()
}

const isServices = (file: string): boolean => /\.services(\.browser)?\.test\.ts$/.test(file)
const isBrowser = (file: string): boolean => file.endsWith('.browser.test.ts')
const isAlone = (file: string): boolean => file.endsWith('.process.test.ts') || isServices(file) || isBrowser(file)

/** Files that run alone first. */
async function batchesOf(files: readonly string[], services: Services | undefined): Promise<readonly Batch[]> {
  const alone = await Promise.all(files.filter(isAlone).map(async (file, index) => loneBatch(file, services, index + 1)))
  const together = files.filter((file) => !isAlone(file))
  const processes = Math.max(Math.ceil(together.length / filesPerProcess), Math.min(together.length, processesAtOnce))
  const shared = Array.from({ length: processes }, (_, index) => ({
    files: together.filter((_file, position) => position % processes === index),
  }))
  return [...alone, ...shared]
}

/** A file that uses servers gets a separate database on each; a file that uses a browser gets its path. */
async function loneBatch(file: string, services: Services | undefined, index: number): Promise<Batch> {
  return {
    files: [file],
    env: {
      ...(services && isServices(file) ? await databases(services, index) : {}),
      ...(isBrowser(file) ? { TEST_CHROMIUM: findBrowser() ?? '' } : {}),
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

/** Runs the checks with `npm run <name>`, one at a time. Resolves to the names of those that failed. */
async function runChecks(signal: AbortSignal): Promise<readonly string[]> {
  const failed: string[] = []
  for (const name of ['lint', 'typecheck', 'check']) {
    if (signal.aborted) break
    const startedAt = Date.now()
    const { ok, output } = await runScript(name, signal)
    console.log(`${ok ? '✓' : '✗'} ${name} ${seconds(Date.now() - startedAt)}`)
    if (ok) continue
    console.log(output)
    failed.push(name)
  }
  return failed
}

function runScript(name: string, signal: AbortSignal): Promise<{ readonly ok: boolean; readonly output: string }> {
  const options = { signal, maxBuffer: 2 ** 26, shell: process.platform === 'win32' }
  return new Promise((resolve) => {
    execFile('npm', ['run', '--silent', name], options, (error, stdout, stderr) => resolve({ ok: error === null, output: stdout + stderr }))
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
 * where to look. The run counts as failed either way.
 */
async function runFailedAgain(
  results: readonly FileResult[],
  services: Services | undefined,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly FileResult[]> {
  const failed = results.filter(({ failures }) => failures.length > 0)
  if (failed.length > mostRunAgain) return results
  const again = new Map<FileResult, FileResult>()
  for (const [index, first] of failed.entries()) {
    if (signal.aborted) break
    const batch = await loneBatch(first.file, services, results.length + index + 1)
    await runBatches([batch], 1, env, signal, (second) => {
      show(second)
      again.set(first, second.failures.length > 0 ? second : { ...second, flaky: first.failures })
    })
  }
  return results.map((result) => again.get(result) ?? result)
}

function summary(results: readonly FileResult[], failedChecks: readonly string[], startedAt: number): boolean {
  showSlowest(results)
  for (const { file, flaky = [] } of results)
    for (const { title, text } of flaky) console.log(`~ flaky (passed when run again, alone): ${file}: ${title}\n${indented(text)}`)
  const failures = results.flatMap(({ file, failures }) => failures.map((failure) => ({ file, ...failure })))
  for (const { file, title, text } of failures) console.log(`✗ ${file}: ${title}\n${indented(text)}`)
  for (const name of failedChecks) console.log(`✗ npm run ${name}`)
  const tests = results.reduce((sum, result) => sum + result.tests, 0)
  const flaky = results.reduce((sum, result) => sum + (result.flaky?.length ?? 0), 0)
  const counts = [`${tests} tests in ${results.length} files`, `${failures.length} failed`, ...(flaky > 0 ? [`${flaky} flaky`] : [])]
  console.log(`${counts.join(', ')}, ${seconds(Date.now() - startedAt)}`)
  return failures.length === 0 && flaky === 0 && failedChecks.length === 0
}

async function main(): Promise<number> {
  const startedAt = Date.now()
  const files = testFiles()
  if (files.length === 0) {
    console.error(wanted.length === 0 ? 'No test files found' : `No test file has a path that contains ${wanted.join(' or ')}`)
    return 1
  }
  const abort = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort(signal))
  // In parallel with the first tests: most checks use one core.
  const checks = args.includes('--checks') ? runChecks(abort.signal) : Promise.resolve([])
  // Coverage is counted by source file.
  const compiled = process.env.NODE_V8_COVERAGE === undefined ? await compile() : undefined
  // For the files of stores and apps, which have never needed a gigabyte.
  const scratch = mkdtempSync(join(memoryFolder({ leastMb: 1024 }), 'zin-tests-'))
  const env = { TMPDIR: scratch, ...(compiled === undefined ? {} : { TEST_COMPILED: compiled.folder }) }
  let services: Services | undefined
  let results: readonly FileResult[] = []
  try {
    if (files.some(isServices)) services = await startServices()
    const batches = await batchesOf(files, services)
    const done = (result: FileResult): void => {
      if (abort.signal.aborted) return
      results = [...results, result]
      show(result)
    }
    await runBatches(batches, processesAtOnce, env, abort.signal, done, checks)
    results = await runFailedAgain(results, services, env, abort.signal)
  } finally {
    await services?.stop()
    compiled?.remove()
    rmSync(scratch, { recursive: true, force: true })
  }
  if (abort.signal.aborted) return 130
  return summary(results, await checks, startedAt) ? 0 : 1
}

process.exitCode = await main()
