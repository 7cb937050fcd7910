import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { health } from 'zin/plugins/health'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { workers, workersService } from '../index.js'

/** Registers a step that runs when the test has ended. */
export type CleanUp = (step: () => unknown) => void

export async function faultHost(clean: CleanUp, options: TestHostOptions): Promise<TestHost> {
  const host = await createTestHost({
    ...options,
    plugins: [health(), database(), kv(), cluster(), queues(), ops(), workers()],
    env: { ...options.env, WORKER_AUTO_START: 'true' },
  })
  clean(() => host.stop())
  return host
}

export interface FaultScene {
  readonly host: TestHost
  /** Adds jobs; resolves to those that were added for certain. */
  add(count: number): Promise<readonly number[]>
  /** Those of the jobs that have not run. */
  missing(jobs: readonly number[]): readonly number[]
}

/** An app with a worker that works. */
export async function faultScene(clean: CleanUp, options: TestHostOptions): Promise<FaultScene> {
  const host = await faultHost(clean, options)
  const service = host.service(workersService)
  const done = new Set<number>()
  await service.create({ name: 'task', queueName: 'task', concurrency: 2, processor: async ({ data }) => void done.add(data as number) })
  let added = 0
  const add = async (count: number): Promise<readonly number[]> => {
    const numbers = Array.from({ length: count }, () => added++)
    const results = await Promise.allSettled(numbers.map((number) => service.enqueue('task', number)))
    return numbers.filter((_number, index) => results[index]?.status === 'fulfilled')
  }
  const missing = (jobs: readonly number[]): readonly number[] => jobs.filter((job) => !done.has(job))
  const before = await add(5)
  await eventually('the worker works', () => missing(before).length === 0)
  return { add, missing, host }
}

/** Within this time after a fault, workers take jobs again, in ms. */
const backWithinMs = 30_000

/**
 * Asserts that the worker takes jobs again in time after a fault, and that every job runs. Returns the cells of its row in the README: when it
 * came back, how many acknowledged jobs never ran, and the worst that readiness and the health of the worker said.
 */
export async function assertComesBack(scene: FaultScene, fault: () => Promise<void>): Promise<string> {
  const { add, missing } = scene
  const earlier = await add(20)
  const worst = worstReports(scene)
  await fault()
  const endedAt = performance.now()
  let later: readonly number[] = []
  await eventually('jobs are accepted', async () => {
    later = [...later, ...(await add(1))]
    return later.length >= 3
  })
  await eventually('it takes jobs', () => missing(later.slice(0, 1)).length === 0)
  const backMs = performance.now() - endedAt
  assert.ok(backMs < backWithinMs, `back after ${backMs} ms`)
  const all = [...earlier, ...later]
  // A job whose reply was lost runs when its lock has ended.
  await eventually('every job has run', () => missing(all).length === 0)
  return `${Math.round(backMs / 1000)} s | ${missing(all).length} | ${(await worst()).join(' | ')}`
}

/** Asks about four times a second until the returned function is called: for readiness, and for the health of the worker. */
function worstReports({ host }: FaultScene): () => Promise<readonly string[]> {
  const said = new Set<string>()
  const scores: number[] = []
  let unknown = false
  const ended = new AbortController()
  const asking = (async () => {
    while (!ended.signal.aborted) {
      const { body } = await host.inject({ path: '/health/ready', headers: { accept: 'application/health+json' } })
      said.add((body as { readonly status: string }).status)
      const { score } = await host
        .service(workersService)
        .health('task')
        .catch(() => ({ score: undefined }))
      if (score === undefined) unknown = true
      else scores.push(score)
      await delay(250, undefined, { signal: ended.signal }).catch(() => undefined)
    }
  })()
  return async () => {
    ended.abort()
    await asking
    const score = scores.length === 0 ? [] : [`${Math.min(...scores)}`]
    return [['fail', 'warn', 'pass'].find((status) => said.has(status)) ?? '', [...score, ...(unknown ? ['503'] : [])].join(', ')]
  }
}

const readme = join(import.meta.dirname, '..', 'README.md')

/** With FAULTS_TABLE=write, replaces the rows of these faults in the README. */
export function writeRows(rows: ReadonlyMap<string, string>): void {
  if (process.env.FAULTS_TABLE !== 'write') return
  const lines = readFileSync(readme, 'utf8').split('\n')
  writeFileSync(readme, lines.map((line) => rows.get(line.split('|')[2]?.trim() ?? '') ?? line).join('\n'))
}

/** The faults in the rows of the README about these stores. */
export function documentedFaults(isStore: (store: string) => boolean): readonly string[] {
  const text = readFileSync(readme, 'utf8')
  const rows = text.slice(text.indexOf('| store | after | back after |')).split('\n\n', 1)[0]?.split('\n').slice(2) ?? []
  return rows
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .flatMap(([, store = '', fault = '']) => (isStore(store) ? [fault] : []))
    .toSorted()
}
