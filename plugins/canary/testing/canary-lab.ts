import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deny } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { type Decision, decisions, decisionsService } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { type AttemptEnd, type EnqueueOptions, type WorkerProcessor, type Workers, workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import type { CanaryChange } from '../hooks.js'
import { canary } from '../index.js'
import type { CanaryState } from '../record.js'

/** Number of jobs added at a time. */
const batch = 50

/** The result of a call over HTTP. */
export interface Called {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse gives it
  readonly body: any
}

export interface Lab {
  readonly host: TestHost
  readonly workers: Workers
  readonly ends: AttemptEnd[]
  /** Reasons for denying the promotion of a canary, by worker. */
  readonly denials: Map<string, string>
  /** Decisions about a worker, oldest first. */
  decisionsOn(name: string): Promise<readonly Decision[]>
  /** Creates a worker with the active version 1.0.0 and the version 2.0.0. */
  worker(name: string, v1: WorkerProcessor, v2: WorkerProcessor, more?: object): Promise<string>
  /** Calls `/api/workers/<name>/canary/<verb>`. */
  call(name: string, verb: string, body?: unknown): Promise<Called>
  http(method: string, path: string, body?: unknown): Promise<Called>
  /** Resolves when the canary changes to the state, or immediately if its last change was to that state. */
  reaches(name: string, state: CanaryState): Promise<CanaryChange>
  /** Resolves when `count` more attempts have ended. */
  attempts(count: number): Promise<readonly AttemptEnd[]>
  /** Adds jobs and resolves when they have ended. */
  jobs(name: string, count: number): Promise<void>
  /** Resolves when the leader has evaluated all canaries at least once more. */
  evaluated(name: string): Promise<void>
  /** Advances the clock of the app. */
  later(ms: number): void
  /** Adds jobs in batches until the promise settles, and waits for the last of them. */
  feed<T>(
    name: string,
    until: Promise<T>,
    between?: () => Promise<void>,
    options?: EnqueueOptions,
  ): Promise<{ readonly result: T; readonly ids: readonly string[] }>
  stop(): Promise<void>
}

/** An app with canaries and short evaluation intervals. */
export async function canaryLab(env: Readonly<Record<string, string>>): Promise<Lab> {
  const run = randomUUID().slice(0, 8)
  let ahead = 0
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-canary-'))
  const changes: CanaryChange[] = []
  const waits = new Set<() => void>()
  const ends: AttemptEnd[] = []
  const denials = new Map<string, string>()
  const wake = (): void => waits.forEach((wait) => void wait())
  const until = <T>(found: () => T | undefined): Promise<T> =>
    new Promise((resolve) => {
      const look = (): void => {
        const result = found()
        if (result === undefined) return
        waits.delete(look)
        resolve(result)
      }
      waits.add(look)
      look()
    })
  const host = await createTestHost({
    plugins: [database(), kv(), cluster(), queues(), ops(), decisions(), workers(), canary({ lookMs: 100, pollMs: 1_000, flushMs: 50 })],
    hooks: {
      onCanaryChange: (change) => {
        changes.push(change)
        wake()
      },
      beforeCanaryPromote: ({ worker }) => {
        const reason = denials.get(worker)
        return reason === undefined ? undefined : deny(reason)
      },
      onAttemptEnd: (end) => {
        ends.push(end)
        wake()
      },
    },
    clock: { now: () => Date.now() + ahead, monotonic: () => performance.now() },
    rootDir,
    dataDir: join(rootDir, 'data'),
    env: { WORKER_AUTO_START: 'true', WORKER_PERSISTENCE_REDIS_KEY_PREFIX: run, CLUSTER_NAME: run, ...env },
  })
  const service = host.service(workersService)
  const ended = (ids: readonly string[]): boolean => {
    const done = new Set(ends.slice(-4 * batch).map(({ job }) => job.id))
    return ids.every((id) => done.has(id))
  }
  const http: Lab['http'] = async (method, path, body) => {
    const { status, body: answer } = await host.inject({
      method,
      path,
      headers: { 'x-requested-with': 'test' },
      ...(body === undefined ? {} : { body }),
    })
    return { status, body: answer }
  }
  return {
    host,
    workers: service,
    ends,
    denials,
    decisionsOn: async (name) => (await host.service(decisionsService).list({ subject: `worker:${name}` })).decisions.toReversed(),
    http,
    async worker(name, v1, v2, more = {}) {
      const unique = `${name}-${run}`
      await service.create({ name: unique, queueName: unique, processor: v1, ...more })
      await service.registerVersion(unique, { version: '2.0.0', processor: v2 })
      return unique
    },
    call: (name, verb, body) => http(verb === 'status' || verb === 'history' ? 'GET' : 'POST', `/api/workers/${name}/canary/${verb}`, body),
    reaches: (name, state) => {
      const before = changes.length
      return until(() => changes.slice(Math.max(0, before - 1)).find(({ to, worker }) => worker === name && to === state))
    },
    later: (ms) => {
      ahead += ms
    },
    attempts: (count) => {
      const before = ends.length
      return until(() => (ends.length - before >= count ? ends.slice(before) : undefined))
    },
    async jobs(name, count) {
      const added = await Promise.all(Array.from({ length: count }, () => service.enqueue(name, null, { attempts: 1 })))
      await until(() => ended(added.map(({ id }) => id)) || undefined)
    },
    async evaluated(name) {
      // A canary that fails is evaluated with the others.
      const other = `${name}-probe`
      await service.create({ name: other, queueName: other, processor: () => 1 })
      await service.registerVersion(other, { version: '2.0.0', processor: () => 2 })
      for (let round = 0; round < 2; round++) {
        const before = changes.length
        await http('POST', `/api/workers/${other}/canary/start`, { newVersion: '2.0.0', duration: 1_000, steps: [50], pauseTimeout: 1 })
        await http('POST', `/api/workers/${other}/canary/pause`)
        await until(() => changes.slice(before).find(({ to, worker }) => worker === other && to === 'ROLLED_BACK'))
      }
      await service.remove(other)
    },
    async feed(name, settled, between, options = { attempts: 1 }) {
      const ids: string[] = []
      let over = false
      const result = settled.finally(() => {
        over = true
      })
      while (!over) {
        const some = await Promise.all(Array.from({ length: batch }, () => service.enqueue(name, null, options)))
        ids.push(...some.map(({ id }) => id))
        await until(() => (over || ended(ids.slice(-batch)) ? true : undefined))
        await between?.()
      }
      await until(() => ended(ids.slice(-batch)) || undefined)
      return { result: await result, ids }
    },
    async stop() {
      await host.stop()
      await rm(rootDir, { recursive: true, force: true })
    },
  }
}
