import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Compiled } from './compile.js'

/** Test files that share a process, and additions to its environment. */
export interface Batch {
  readonly files: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export interface FileResult {
  readonly file: string
  readonly tests: number
  readonly ms: number
  /** Its slowest tests, slowest first. */
  readonly slowest: readonly { readonly title: string; readonly ms: number }[]
  /** Title and text of each failure; a file without tests counts as one. */
  readonly failures: readonly Failure[]
  /** Its process ended before it began. */
  readonly notRun?: boolean
  /** Tests that failed in parallel with other files and passed alone. */
  readonly flaky?: readonly Failure[]
}

export interface Failure {
  readonly title: string
  readonly text: string
}

interface ReportLine {
  readonly file: string
  readonly title: string
  readonly ms: number
  readonly suite: boolean
  readonly error?: string
  /** What the test runner said about the whole process; such a line is about no test. */
  readonly note?: string
}

const deadlineMs = 8 * 60_000
/** How many of its slowest tests a file reports. */
const listed = 10

export interface RunOptions {
  /** The compiled files; without them, Node loads the sources with tsx. */
  readonly compiled?: Compiled | undefined
  /** For all batches. */
  readonly env: Readonly<Record<string, string>>
  /** Aborting kills running batches. */
  readonly signal: AbortSignal
}

/** How many jobs run at once: `least`, and up to `most` while the processors are idle, because many tests wait. */
export interface AtOnce {
  readonly least: number
  readonly most: number
}

/** The share of idle processor time above which one more job begins. */
const idleShare = 0.25
const idleCheckMs = 1000

/** Runs jobs in their order, and begins no more when the signal is aborted. */
export async function runJobs(jobs: readonly (() => Promise<void>)[], { least, most }: AtOnce, signal: AbortSignal): Promise<void> {
  const queue = signal.aborted ? [] : [...jobs]
  const running = new Set<Promise<void>>()
  const areIdle = idleProcessors()
  signal.addEventListener('abort', () => queue.splice(0), { once: true })
  while (queue.length + running.size > 0) {
    while (running.size < least || (running.size < most && areIdle())) {
      const job = queue.shift()
      if (job === undefined) break
      const work: Promise<void> = job().finally(() => running.delete(work))
      running.add(work)
    }
    await Promise.race([...running, delay(idleCheckMs, undefined, { ref: false })])
  }
}

/** Returns a function that tells whether the processors have been idle since it was called last, at most once a second. */
function idleProcessors(): () => boolean {
  const read = () => {
    const times = cpus().map((cpu) => cpu.times)
    return { at: Date.now(), idle: sum(times.map(({ idle }) => idle)), total: sum(times.flatMap((one) => Object.values(one))) }
  }
  let last = read()
  return () => {
    if (Date.now() - last.at < idleCheckMs) return false
    const before = last
    last = read()
    return last.idle - before.idle > idleShare * (last.total - before.total)
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Resolves to the result of each file. */
export async function runBatch(batch: Batch, { compiled, env, signal }: RunOptions): Promise<readonly FileResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'zin-test-'))
  const report = join(folder, 'report')
  const loader = compiled === undefined ? ['--import', 'tsx'] : []
  const args = [...loader, '--test-reporter=./scripts/test-reporter.mjs', `--test-reporter-destination=${report}`]
  // In a separate process group, so that processes started by a test end with it.
  const child = spawn(process.execPath, [...args, 'scripts/test-aggregate.mjs', ...batch.files], {
    env: { ...process.env, ...env, ...batch.env, ...(compiled === undefined ? {} : { TEST_COMPILED: compiled.folder }) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  const read = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-20_000)
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  let late = false
  const kill = (): void => killGroup(child)
  const timer = setTimeout(() => {
    late = true
    kill()
  }, deadlineMs)
  signal.addEventListener('abort', kill)
  const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null]
  clearTimeout(timer)
  signal.removeEventListener('abort', kill)
  kill()
  const lines = readLines(report, (text) => compiled?.original(text) ?? text)
  rmSync(folder, { recursive: true, force: true })
  const why = late
    ? `did not end within ${deadlineMs / 60_000} minutes: something keeps the process alive`
    : `ended with ${killedBy ?? `code ${code}`}`
  const notes = lines.flatMap(({ note }) => note ?? []).join('\n')
  return summarize(batch.files, lines, `its process ${why}\n${notes}\n${output}`, code === 0)
}

/** Ends the remaining processes of a group; does nothing if there are none. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {}
}

function readLines(path: string, original: (text: string) => string): readonly ReportLine[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ReportLine)
      .map((line) => ({ ...line, ...(line.error && { error: original(line.error) }), ...(line.note && { note: original(line.note) }) }))
  } catch {
    return []
  }
}

function summarize(files: readonly string[], lines: readonly ReportLine[], ending: string, ok: boolean): readonly FileResult[] {
  const isDone = (file: string): boolean => lines.some((line) => line.file === file && line.title === '')
  const failed = lines.some((line) => line.error !== undefined)
  // They run one after the other, once all are loaded.
  const beganNone = lines.length === 0 && files.length > 1
  const named = files.filter((file) => ending.includes(file.replace(/\.ts$/, '.')))
  const blamed = named.length > 0 ? named : files
  const current = beganNone ? undefined : files.find((file) => !isDone(file))
  return files.map((file) => {
    const own = lines.filter((line) => line.file === file)
    const tests = own.filter((line) => !line.suite && line.title !== '')
    const slowest = tests.map(({ title, ms }) => ({ title, ms })).sort((a, b) => b.ms - a.ms)
    const failures = own.flatMap((line) => (line.error === undefined ? [] : [{ title: line.title || file, text: line.error }]))
    const whole = own.find((line) => line.title === '')
    if (file === current) failures.push({ title: file, text: `it did not end: ${ending}` })
    else if (whole !== undefined && current === undefined && !ok && !failed && blamed.includes(file))
      failures.push({ title: file, text: ending })
    else if (whole !== undefined && failures.length === 0 && tests.length === 0) failures.push({ title: file, text: 'it holds no test' })
    const notRun = whole === undefined && file !== current
    return { file, tests: tests.length, ms: whole?.ms ?? 0, slowest: slowest.slice(0, listed), failures, ...(notRun ? { notRun } : {}) }
  })
}
