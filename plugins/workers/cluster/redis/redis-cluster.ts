import { type Logger, messageOf } from 'zin'
import type { RedisClient } from 'zin/plugins/redis'
import type {
  AttemptCounts,
  AttemptDelta,
  Beat,
  Cluster,
  ClusterMessage,
  KnownNode,
  MinuteCounts,
  NodeInfo,
  NodeStatus,
  OperationRecord,
  ReportedStatus,
  SentMessage,
} from '../cluster.js'
import { byWorker } from '../group.js'
import { dayMs, minuteOf } from '../keep.js'
import { Listeners } from '../listeners.js'
import { tallyOf } from '../tally.js'
import { Ear } from './ear.js'
import { isClusterUnavailable, RedisScripts, unavailable } from './redis-scripts.js'
import {
  type BeatReply,
  beatOf,
  type MinutesReply,
  minutesOf,
  type StatusesReply,
  statusesOf,
  type TotalsReply,
  totalsOf,
} from './replies.js'
import * as scripts from './scripts.js'

/** How long `open` waits until messages are heard, in ms. */
const openMs = 5_000

export interface RedisClusterOptions {
  /** The client of the plugin kv; undefined before that has started. */
  readonly redis: () => RedisClient | undefined
  /** Begins every key, after the client's own prefix. */
  readonly prefix: string
  readonly log: Logger
}

/** The processes of an app over Redis: all keys in one slot, one script per method, and a connection of its own for messages. */
export function redisCluster(options: RedisClusterOptions): Cluster {
  return new RedisCluster(options)
}

class RedisCluster implements Cluster {
  readonly kind = 'redis'
  readonly #scripts: RedisScripts
  readonly #log: Logger
  readonly #listeners: Listeners
  readonly #ear: Ear

  constructor({ redis, prefix, log }: RedisClusterOptions) {
    this.#scripts = new RedisScripts(redis, prefix)
    this.#log = log
    this.#listeners = new Listeners(log)
    this.#ear = new Ear({
      client: () => this.#scripts.client(),
      channel: () => this.#scripts.channel(),
      onMessage: (text) => this.#heard(text),
      onReturn: () => this.#listeners.tell({ kind: 'resync' }),
      log,
    })
  }

  async open(): Promise<void> {
    try {
      await this.#ear.open(openMs)
    } catch (error) {
      throw unavailable(messageOf(error))
    }
  }

  async close(): Promise<void> {
    this.#ear.close()
  }

  async beat(node: NodeInfo, leaseMs: number): Promise<Beat> {
    const joined = messageText({ kind: 'node', node: node.id, joined: true })
    return beatOf(await this.#scripts.run<BeatReply>(scripts.beat, node.id, JSON.stringify(node), leaseMs, joined))
  }

  async leave(node: string): Promise<void> {
    await this.#scripts.run(scripts.leave, node, messageText({ kind: 'node', node, joined: false }))
  }

  async nodes(): Promise<readonly KnownNode[]> {
    return beatOf(await this.#scripts.run<BeatReply>(scripts.listNodes)).nodes
  }

  async report(node: string, statuses: readonly NodeStatus[]): Promise<void> {
    if (statuses.length === 0) return
    const rows = statuses.flatMap((status) => [
      status.worker,
      status.state === 'running' ? '1' : '0',
      JSON.stringify(status),
      messageText({ kind: 'status', node, status }),
    ])
    await this.#scripts.run(scripts.report, node, ...rows)
  }

  async forget(node: string, worker: string, workerId: string): Promise<void> {
    await this.#scripts.run(scripts.forget, node, worker, workerId)
  }

  async statuses(workers: readonly string[]): Promise<ReadonlyMap<string, readonly ReportedStatus[]>> {
    if (workers.length === 0) return new Map()
    return byWorker(statusesOf(await this.#scripts.run<StatusesReply>(scripts.statuses, ...new Set(workers))))
  }

  async running(): Promise<ReadonlySet<string>> {
    return new Set(await this.#scripts.run<readonly string[]>(scripts.running))
  }

  async announce(worker: string): Promise<void> {
    await this.#scripts.run(scripts.announce, messageText({ kind: 'change', worker }))
  }

  async send(message: SentMessage): Promise<void> {
    await this.#scripts.run(scripts.send, messageText(message))
  }

  listen(listener: (message: ClusterMessage) => void): () => void {
    return this.#listeners.add(listener)
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

  async lead(role: string, node: string, leaseMs: number): Promise<number | undefined> {
    return (await this.#scripts.run<number | null>(scripts.lead, role, node, leaseMs)) ?? undefined
  }

  async leads(role: string, epoch: number): Promise<boolean> {
    return Number(await this.#scripts.run<string | null>(scripts.epochOf, role)) === epoch
  }

  async resign(role: string, node: string): Promise<void> {
    await this.#scripts.run(scripts.resign, role, node, messageText({ kind: 'vacant', role }))
  }

  async sweep(): Promise<void> {
    await this.#scripts.run(scripts.sweep)
  }

  isUnavailable(error: unknown): boolean {
    return isClusterUnavailable(error)
  }

  #heard(text: string): void {
    let message: ClusterMessage
    try {
      message = JSON.parse(text) as ClusterMessage
    } catch {
      this.#log.warn('a message that no process of this app can have sent was left out')
      return
    }
    this.#listeners.tell(message)
  }
}

function messageText(message: SentMessage): string {
  return JSON.stringify(message)
}
