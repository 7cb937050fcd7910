import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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

export interface CameBack {
  readonly backMs: number
  /** Number of acknowledged jobs that never ran. */
  readonly lost: number
}

/** Asserts that the worker takes jobs again in time after a fault, and that every job runs. */
export async function assertComesBack({ add, missing }: FaultScene, fault: () => Promise<void>): Promise<CameBack> {
  const earlier = await add(20)
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
  return { backMs, lost: missing(all).length }
}

const readme = join(import.meta.dirname, '..', 'README.md')

/** The faults in the rows of the README about these stores. */
export function documentedFaults(isStore: (store: string) => boolean): readonly string[] {
  const text = readFileSync(readme, 'utf8')
  const rows = text.slice(text.indexOf('| store | after | back after |')).split('\n\n', 1)[0]?.split('\n').slice(2) ?? []
  return rows
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .flatMap(([, store = '', fault = '']) => (isStore(store) ? [fault] : []))
    .toSorted()
}
