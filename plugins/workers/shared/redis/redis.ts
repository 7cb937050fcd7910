import { isRedisUnavailable, type RedisClient, RedisScripts } from 'zin/plugins/redis'
import { workerErrors } from '../../errors.js'
import {
  type AttemptCounts,
  type AttemptDelta,
  type MinuteCounts,
  mostChanges,
  type News,
  type NodeStatus,
  type OperationRecord,
  type StateStore,
  type StoredStatus,
} from '../contract.js'
import { dayMs, minuteOf } from '../keep.js'
import { tallyOf } from '../tally.js'
import {
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

export interface RedisStateOptions {
  /** The client of the plugin kv; undefined before that has started. */
  readonly redis: () => RedisClient | undefined
  /** Begins every key, after the client's own prefix. */
  readonly prefix: string
}

/** What nodes share of workers, on Redis: all keys in one slot, one script per method. */
export function redisState(options: RedisStateOptions): StateStore {
  return new RedisState(options)
}

class RedisState implements StateStore {
  readonly kind = 'redis'
  readonly #scripts: RedisScripts

  constructor({ redis, prefix }: RedisStateOptions) {
    // The first pair of braces of a key chooses its slot, so there must be no other.
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
    await this.#scripts.run(scripts.saveOperation, operation.id, operation.worker, JSON.stringify(operation))
  }

  async operation(id: string): Promise<OperationRecord | undefined> {
    const text = await this.#scripts.run<string | null>(scripts.operation, id)
    return text === null ? undefined : (JSON.parse(text) as OperationRecord)
  }

  async count(deltas: readonly AttemptDelta[]): Promise<void> {
    if (deltas.length === 0) return
    const rows = deltas.flatMap((delta) => {
      const { completed, failed, lost, totalUs } = tallyOf(delta)
      return [delta.worker, delta.version ?? '', completed, failed, lost, totalUs]
    })
    await this.#scripts.run(scripts.count, ...rows)
  }

  async totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    return workers.length === 0 ? new Map() : totalsOf(workers, await this.#scripts.run<TotalsReply>(scripts.totals, ...workers))
  }

  async minutes(worker: string, since: number): Promise<readonly MinuteCounts[]> {
    const reply = await this.#scripts.run<MinutesReply>(scripts.minutes, worker, minuteOf(since))
    return minutesOf(reply, Math.max(minuteOf(since), reply[0] - dayMs))
  }

  async erase(worker: string): Promise<void> {
    await this.#scripts.run(scripts.erase, worker)
  }

  async sweep(nodes: readonly string[]): Promise<void> {
    await this.#scripts.run(scripts.sweep, ...nodes)
  }

  isUnavailable(error: unknown): boolean {
    return (error instanceof Error && 'code' in error && error.code === 'WORKER_CLUSTER_UNAVAILABLE') || isRedisUnavailable(error)
  }
}
