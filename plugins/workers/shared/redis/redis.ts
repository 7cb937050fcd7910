import { systemClock } from 'zin'
import { isRedisUnavailable, type RedisClient, RedisScripts } from 'zin/plugins/redis'
import { workerErrors } from '../../errors.js'
import {
  type AttemptCounts,
  type AttemptDelta,
  type CountsQuery,
  mostChanges,
  type News,
  type NodeStatus,
  type OperationRecord,
  type StateStore,
  type StoredStatus,
  type WorkerCounts,
} from '../contract.js'
import { minuteOf } from '../keep.js'
import { countsBy, tallyOf } from '../tally.js'
import {
  durationsText,
  type MinutesReply,
  minutesOf,
  type NewsReply,
  newsOf,
  type StatusesReply,
  statusesOf,
  type TotalsReply,
  totalsOf,
} from './replies.js'
import * as scripts from './scripts.js'

/** Maximum number of hours (per worker) that one script call reads, so that it blocks Redis for a few ms at most. */
const hoursAtOnce = 100

export interface RedisStateOptions {
  /** Returns the client of the plugin kv; undefined before it has started. */
  readonly redis: () => RedisClient | undefined
  /** Prefix of every key, after that of the client. */
  readonly prefix: string
}

/** Opens a state store in Redis, with all keys in one slot and one script per method. */
export function redisState(options: RedisStateOptions): StateStore {
  return new RedisState(options)
}

class RedisState implements StateStore {
  readonly kind = 'redis'
  readonly #scripts: RedisScripts

  constructor({ redis, prefix }: RedisStateOptions) {
    // The first pair of braces in a key selects its slot, so the prefix must not contain braces.
    const base = `${prefix.replaceAll(/[{}]/g, '_')}:{workers}`
    this.#scripts = new RedisScripts({ redis, base, unavailable: (why) => workerErrors.WORKER_CLUSTER_UNAVAILABLE('Redis', why) })
  }

  async report(node: string, statuses: readonly NodeStatus[]): Promise<void> {
    if (statuses.length === 0) return
    const rows = statuses.flatMap((status) => [status.worker, status.state === 'running' ? '1' : '0', JSON.stringify(status)])
    await this.#scripts.run(scripts.report, node, ...rows)
  }

  async forget(node: string, worker: string, workerId: string): Promise<void> {
    await this.#scripts.run(scripts.forget, node, worker, workerId)
  }

  async forgetNode(node: string): Promise<void> {
    await this.#scripts.run(scripts.forgetNode, node)
  }

  async statuses(workers: readonly string[]): Promise<readonly StoredStatus[]> {
    if (workers.length === 0) return []
    return statusesOf(await this.#scripts.run<StatusesReply>(scripts.statuses, ...new Set(workers)))
  }

  async running(nodes: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(await this.#scripts.run<readonly string[]>(scripts.running, ...nodes))
  }

  change(worker: string): Promise<number> {
    return this.#scripts.run<number>(scripts.change, worker)
  }

  async news(node: string, since: number): Promise<News> {
    return newsOf(await this.#scripts.run<NewsReply>(scripts.news, node, since, mostChanges), since)
  }

  async saveOperation(operation: OperationRecord): Promise<void> {
    await this.#scripts.run(scripts.saveOperation, operation.id, operation.workerId, JSON.stringify(operation))
  }

  async operation(id: string): Promise<OperationRecord | undefined> {
    const text = await this.#scripts.run<string | null>(scripts.operation, id)
    return text === null ? undefined : (JSON.parse(text) as OperationRecord)
  }

  async count(deltas: readonly AttemptDelta[]): Promise<number> {
    if (deltas.length === 0) return 0
    const rows = deltas.flatMap((delta) => {
      const { completed, failed, lost, timedOut, cancelled, totalUs } = tallyOf(delta)
      const counts = [completed, failed, lost, totalUs, timedOut, cancelled]
      return [delta.worker, delta.version ?? '', ...counts, durationsText(delta.durations)]
    })
    await this.#scripts.run(scripts.count, ...rows)
    return deltas.length
  }

  async totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    return workers.length === 0 ? new Map() : totalsOf(workers, await this.#scripts.run<TotalsReply>(scripts.totals, ...workers))
  }

  async counts(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]> {
    const since = minuteOf(query.since)
    const hours = Math.min(26, Math.max(0, (systemClock.now() - since) / 3_600_000) + 2)
    const step = Math.max(1, Math.floor(hoursAtOnce / hours))
    const batches = Array.from({ length: Math.ceil(workers.length / step) }, (_, n) => workers.slice(n * step, (n + 1) * step))
    // All batches are sent before the first reply.
    const replies = await Promise.all(batches.map((batch) => this.#scripts.run<MinutesReply>(scripts.minutes, since, ...batch)))
    return countsBy(workers, query, minutesOf(workers, replies.flat()))
  }

  async erase(worker: string, workerId: string): Promise<void> {
    await this.#scripts.run(scripts.erase, worker, workerId)
  }

  async sweep(nodes: readonly string[]): Promise<void> {
    await this.#scripts.run(scripts.sweep, ...nodes)
  }

  isUnavailable(error: unknown): boolean {
    return (error instanceof Error && 'code' in error && error.code === 'WORKER_CLUSTER_UNAVAILABLE') || isRedisUnavailable(error)
  }
}
