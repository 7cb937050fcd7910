import { type Logger, messageOf } from 'zin'
import { isRedisUnavailable, type RedisClient, RedisScripts } from 'zin/plugins/redis'
import type { NodeInfo } from '../../contract.js'
import { clusterErrors } from '../../errors.js'
import {
  type ClusterStore,
  type Envelope,
  type NodeList,
  nodesChanged,
  type Renewal,
  roleReleased,
  type StoreListener,
} from '../contract.js'
import { leased } from '../lease.js'
import * as scripts from './scripts.js'
import { Subscriber } from './subscriber.js'

/** How long `open` waits for the subscription, in ms. */
const openMs = 5_000

export interface RedisStoreOptions {
  /** The client of the plugin kv; undefined before that has started. */
  readonly redis: () => RedisClient | undefined
  /** Name of the cluster. */
  readonly name: string
  readonly log: Logger
}

/** The cluster on Redis: all keys in one slot, one script per method, and a separate connection for messages. */
export function redisStore(options: RedisStoreOptions): ClusterStore {
  return new RedisStore(options)
}

class RedisStore implements ClusterStore {
  readonly kind = 'redis'
  readonly #scripts: RedisScripts
  readonly #base: string
  readonly #log: Logger
  readonly #subscriber: Subscriber
  #listener: StoreListener | undefined

  constructor({ redis, name, log }: RedisStoreOptions) {
    // The first pair of braces in a key selects its slot, so there must be no other pair.
    this.#base = `${name.replaceAll(/[{}]/g, '_')}:{cluster}`
    this.#scripts = new RedisScripts({ redis, base: this.#base, unavailable })
    this.#log = log
    this.#subscriber = new Subscriber({
      client: () => this.#scripts.client(),
      channel: () => this.#channel(),
      onMessage: (text) => this.#receive(text),
      onReturn: () => this.#listener?.onMissed(),
      log,
    })
  }

  async open(listener: StoreListener): Promise<void> {
    this.#listener = listener
    try {
      await this.#subscriber.open(openMs)
    } catch (error) {
      throw unavailable(messageOf(error))
    }
  }

  async close(): Promise<void> {
    this.#subscriber.close()
  }

  async renew(node: NodeInfo, leaseMs: number, changed: boolean): Promise<Renewal> {
    const [joined, version, now, late] = await this.#run<readonly [number, number, number, readonly string[]]>(
      scripts.renew,
      node.id,
      leaseMs,
      changed ? '1' : '0',
      JSON.stringify(node),
      textOf({ kind: nodesChanged, from: node.id }),
    )
    return { joined: joined === 1, version, late: pairs(late).map(([id, end]) => ({ id, leaseMs: Number(end) - now })) }
  }

  async leave(node: string): Promise<void> {
    await this.#run(scripts.leave, node, textOf({ kind: nodesChanged, from: node }))
  }

  async read(): Promise<NodeList> {
    const [version, now, leases, infos] = await this.#run<readonly [number, number, readonly string[], readonly string[]]>(scripts.read)
    const known = new Map(pairs(infos))
    const nodes = pairs(leases).flatMap(([id, end]) => {
      const info = known.get(id)
      return info === undefined ? [] : [leased(info, Number(end), now)]
    })
    return { version, nodes }
  }

  async publish(message: Envelope): Promise<void> {
    await this.#run(scripts.publish, textOf(message))
  }

  async acquire(role: string, node: string): Promise<number | undefined> {
    return (await this.#run<number | null>(scripts.acquire, role, node)) ?? undefined
  }

  async epoch(role: string): Promise<number> {
    return Number(await this.#run<string | null>(scripts.epoch, role))
  }

  async release(role: string, node: string, forget = false): Promise<void> {
    await this.#run(scripts.release, role, node, textOf({ kind: roleReleased, from: node, body: role }), forget ? '1' : '0')
  }

  async sweep(): Promise<void> {
    await this.#run(scripts.sweep)
  }

  isUnavailable(error: unknown): boolean {
    return isRedisUnavailable(error)
  }

  #run<Reply>(script: string, ...values: readonly (string | number)[]): Promise<Reply> {
    return this.#scripts.run<Reply>(script, this.#channel(), ...values)
  }

  /** Channels are shared by all databases, and the client does not prefix them. */
  #channel(): string {
    const client = this.#scripts.client()
    const { keyPrefix = '' } = client.options
    return `${keyPrefix}${this.#base}:messages:${'nodes' in client ? 0 : (client.options.db ?? 0)}`
  }

  #receive(text: string): void {
    let message: Envelope
    try {
      message = JSON.parse(text) as Envelope
    } catch {
      this.#log.warn('ignored a message that is not in the format of this app')
      return
    }
    this.#listener?.onMessage(message)
  }
}

function unavailable(why: string): Error {
  return clusterErrors.CLUSTER_UNAVAILABLE('Redis', why)
}

function textOf(message: Envelope): string {
  return JSON.stringify(message)
}

function pairs(list: readonly string[]): readonly (readonly [string, string])[] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index] ?? '', list[2 * index + 1] ?? ''] as const)
}
