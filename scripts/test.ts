// Runs the checks (with --checks) and all tests, or those whose path contains an argument; see test.mjs for the way in.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { type Batch, type FileResult, runBatches } from './run-tests.js'
import { findBrowser } from './servers.mjs'
import { type Services, startServices } from './services.js'

const args = process.argv.slice(2)
const wanted = args.filter((arg) => !arg.startsWith('-'))
const embedded = args.includes('--embedded')
const processesAtOnce = 2
const filesPerProcess = 12

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

const isServices = (file: string): boolean => file.endsWith('.services.test.ts')
const isBrowser = (file: string): boolean => file.endsWith('.browser.test.ts')
const isAlone = (file: string): boolean => file.endsWith('.process.test.ts') || isServices(file) || isBrowser(file)

/** Long ones first. Files that use servers get a database of their own on each; those that use a browser, its path. */
async function batchesOf(files: readonly string[], services: Services | undefined): Promise<readonly Batch[]> {
  const alone = await Promise.all(
    files.filter(isAlone).map(async (file, index) => ({
      files: [file],
      ...(services && isServices(file) ? { env: await databases(services, index + 1) } : {}),
      ...(isBrowser(file) ? { env: { TEST_CHROMIUM: findBrowser() ?? '' } } : {}),
    })),
  )
  const together = files.filter((file) => !isAlone(file))
  const processes = Math.max(Math.ceil(together.length / filesPerProcess), Math.min(together.length, processesAtOnce))
  const shared = Array.from({ length: processes }, (_, index) => ({
    files: together.filter((_file, position) => position % processes === index),
  }))
  return [...alone, ...shared]
}

async function databases(services: Services, index: number): Promise<Record<string, string>> {
  const name = `zin_test_${index}`
  const connection = await createConnection(services.mysqlUrl)
  await connection.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
  await connection.end()
  return { TEST_REDIS_URL: `${services.redisUrl}/${index}`, TEST_MYSQL_URL: `${services.mysqlUrl}/${name}` }
}

/** Each as `npm run <name>`; answers the names of those that failed. */
function runChecks(): readonly string[] {
  return ['lint', 'typecheck', 'check'].filter((name) => {
    const startedAt = Date.now()
    const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', name], {
      encoding: 'utf8',
      shell: process.platform === 'win32',
    })
    console.log(`${status === 0 ? '✓' : '✗'} ${name} ${seconds(Date.now() - startedAt)}`)
    if (status !== 0) console.log(`${stdout}${stderr}`)
    return status !== 0
  })
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

function show(result: FileResult): void {
  console.log(`${result.failures.length === 0 ? '✓' : '✗'} ${result.file} (${result.tests} tests, ${seconds(result.ms)})`)
  for (const { title, text } of result.failures) console.log(`  ✗ ${title}\n${text.replaceAll(/^/gm, '    ')}`)
}

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

function summary(results: readonly FileResult[], failedChecks: readonly string[], startedAt: number): boolean {
  const failures = results.flatMap((result) => result.failures.map(({ title }) => `${result.file}: ${title}`))
  showSlowest(results)
  for (const failure of [...failedChecks.map((name) => `npm run ${name}`), ...failures]) console.log(`✗ ${failure}`)
  const tests = results.reduce((sum, result) => sum + result.tests, 0)
  console.log(`${tests} tests in ${results.length} files, ${failures.length} failed, ${seconds(Date.now() - startedAt)}`)
  return failures.length === 0 && failedChecks.length === 0
}

async function main(): Promise<number> {
  const startedAt = Date.now()
  const files = testFiles()
  if (files.length === 0) {
    console.error(wanted.length === 0 ? 'No test files found' : `No test file's path contains ${wanted.join(' or ')}`)
    return 1
  }
  const failedChecks = args.includes('--checks') ? runChecks() : []
  const abort = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort(signal))
  const services = files.some(isServices) ? await startServices() : undefined
  const results: FileResult[] = []
  try {
    const batches = await batchesOf(files, services)
    await runBatches(batches, processesAtOnce, abort.signal, (result) => {
      if (abort.signal.aborted) return
      results.push(result)
      show(result)
    })
  } finally {
    await services?.stop()
  }
  if (abort.signal.aborted) return 130
  return summary(results, failedChecks, startedAt) ? 0 : 1
}

process.exitCode = await main()
