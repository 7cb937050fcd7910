// What workers on Redis do besides BullMQ.
import { setTimeout as delay } from 'node:timers/promises'
import type { Worker } from 'bullmq'
import type { RedisClient } from 'zin/plugins/redis'
import { fetchedJobs } from '../fetched-jobs.js'

/** KEYS: the meta key, the jobs with a priority, the marker that wakes a worker. */
const wakeScript = `
if redis.call('HEXISTS', KEYS[1], 'paused') == 0 and redis.call('EXISTS', KEYS[2]) == 1 then redis.call('ZADD', KEYS[3], 0, '0') end`

/**
 * Ends the blocking wait of a worker that is closed, also when its connection is being replaced: the command would wait for the next one.
 * Prevents a pause that is still pending when the worker is closed from reconnecting it afterwards.
 */
export function staysClosed(worker: Worker): Worker {
  const closed = (): Error => new Error('Connection is closed.')
  const whenConnected = (use: (client: BlockingClient) => void): void => {
    ;(worker.getBackend().blockingClient as Promise<BlockingClient> | undefined)?.then(use, () => undefined)
  }
  let end = (): void => undefined
  whenConnected((client) => {
    const bzpopmin = client.bzpopmin.bind(client)
    client.bzpopmin = (...args) =>
      new Promise((resolve, reject) => {
        end = () => reject(closed())
        if (worker.closing === undefined) bzpopmin(...args).then(resolve, reject)
        else end()
      })
  })
  worker.once('closing', () => {
    whenConnected((client) => {
      client.connect = () => Promise.reject(closed())
    })
    end()
  })
  return worker
}

interface BlockingClient {
  bzpopmin(...args: readonly unknown[]): Promise<unknown>
  connect(): Promise<unknown>
}

/**
 * Makes a worker that returns a job with a priority to its queue wake an idle worker. BullMQ does so for other jobs only, and an idle worker
 * would take this one when it polls next.
 */
export function wakesOthers(worker: Worker, redis: RedisClient): Worker {
  const backend = worker.getBackend()
  const move = backend.moveJobFromActiveToWait.bind(backend)
  const keys = ['meta', 'prioritized', 'marker'].map((key) => worker.toKey(key))
  backend.moveJobFromActiveToWait = async (id, token) => {
    const result = await move(id, token)
    // The job has returned in any case.
    await redis.eval(wakeScript, keys.length, ...keys).catch(() => undefined)
    return result
  }
  return worker
}

/** Jobs read at most from the end of the list of running jobs, and the time between two looks, in ms. */
const mostRunning = 1_000
const lookAgainMs = 1_000
/** Looks of many workers after a reconnection are spread by this time each, in ms. */
const spreadMs = 2

/** KEYS: the key prefix of the queue. ARGV: how the tokens of a worker begin. Returns the ids and tokens of its running jobs, in turns. */
const ownScript = `
local own = {}
for _, id in ipairs(redis.call('LRANGE', KEYS[1] .. 'active', 0, ${mostRunning - 1})) do
  local token = redis.call('GET', KEYS[1] .. id .. ':lock')
  if token and string.sub(token, 1, #ARGV[1]) == ARGV[1] then
    own[#own + 1] = id
    own[#own + 1] = token
  end
end
return own`

/**
 * Returns jobs to their queue that workers have taken without knowing it, each time the connection is back: the command reached the server,
 * and its reply was lost. Otherwise nothing runs them until their locks end, nor the next job of their schedule.
 */
export class OrphanedJobs {
  readonly #connection: RedisClient
  readonly #workers = new Set<Worker>()

  /** @param connection runs all commands of the workers, in order, but for those that block. */
  constructor(connection: RedisClient) {
    this.#connection = connection
    connection.on('ready', () => {
      for (const [i, worker] of [...this.#workers].entries()) void this.#look(worker, i * spreadMs)
    })
  }

  /** Watches a worker until it closes. */
  watch(worker: Worker): Worker {
    this.#workers.add(worker)
    // From now on, what it fetches is known.
    fetchedJobs(worker)
    worker.once('closing', () => this.#workers.delete(worker))
    return worker
  }

  async #look(worker: Worker, afterMs: number): Promise<void> {
    const backend = worker.getBackend()
    try {
      await delay(afterMs, undefined, { ref: false })
      const before = await this.#orphansOf(worker)
      if (before.size === 0) return
      // A job that has just arrived begins within a moment.
      await delay(lookAgainMs, undefined, { ref: false })
      // It has ended, or another node has it, if its lock is another one by now.
      for (const [id, token] of await this.#orphansOf(worker))
        if (before.get(id) === token) await backend.moveJobFromActiveToWait(id, token).catch(unlessGone)
    } catch (error) {
      // It looks again after the next reconnection.
      if (this.#workers.has(worker)) worker.emit('error', error as Error)
    }
  }

  /** The jobs that carry a token of the worker and are not known to it. What it sent before on this connection has been answered. */
  async #orphansOf(worker: Worker): Promise<ReadonlyMap<string, string>> {
    if (!this.#workers.has(worker)) return new Map()
    const found = (await this.#connection.eval(ownScript, 1, worker.toKey(''), `${worker.id}:`)) as readonly string[]
    const { trackedJobs } = (worker as unknown as { readonly lockManager: { readonly trackedJobs: ReadonlyMap<string, unknown> } })
      .lockManager
    const pairs = Array.from({ length: found.length / 2 }, (_, i) => [found[2 * i] as string, found[2 * i + 1] as string] as const)
    const fetched = fetchedJobs(worker)
    return new Map(pairs.filter(([id]) => !trackedJobs.has(id) && !fetched.has(id)))
  }
}

/** BullMQ's codes for a job that is gone, has no lock, has another lock, or does not run. */
const goneCodes: ReadonlySet<unknown> = new Set([-1, -2, -3, -6])

function unlessGone(error: unknown): void {
  if (!goneCodes.has((error as { readonly code?: unknown }).code)) throw error
}
