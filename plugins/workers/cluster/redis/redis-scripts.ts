import { messageOf } from 'zin'
import { isRedisUnavailable, type RedisClient, whenReady } from 'zin/plugins/redis'
import { workerErrors } from '../../errors.js'

/** How long a command waits for a connection that is coming back, in ms. */
const patienceMs = 1_000

/** Runs scripts on the client of the plugin kv, for keys under one base. */
export class RedisScripts {
  readonly #redis: () => RedisClient | undefined
  readonly #base: string
  #waiting: Promise<boolean> | undefined

  constructor(redis: () => RedisClient | undefined, prefix: string) {
    this.#redis = redis
    // The first pair of braces of a key chooses its slot, so there must be no other.
    this.#base = `${prefix.replaceAll(/[{}]/g, '_')}:{workers}`
  }

  client(): RedisClient {
    const client = this.#redis()
    if (client === undefined) throw unavailable('it is not connected')
    return client
  }

  /** Channels know no databases, and get no prefix by themselves. */
  channel(): string {
    const client = this.client()
    const { keyPrefix = '' } = client.options
    return `${keyPrefix}${this.#base}:messages:${'nodes' in client ? 0 : (client.options.db ?? 0)}`
  }

  /**
   * Sends the text of a script: Redis does not compile again what it has seen, and unlike a digest the text is right after Redis was
   * restarted, so that what a process sends keeps its order then too.
   */
  async run<Reply>(script: string, ...values: readonly (string | number)[]): Promise<Reply> {
    const client = this.client()
    try {
      if (client.status !== 'ready' && !(await this.#ready(client))) throw unavailable('the connection is down')
      return (await client.eval(script, 1, this.#base, this.channel(), ...values)) as Reply
    } catch (error) {
      throw isRedisUnavailable(error) ? unavailable(messageOf(error)) : error
    }
  }

  /** One wait for all commands that come in the meantime. */
  #ready(client: RedisClient): Promise<boolean> {
    this.#waiting ??= whenReady(client, patienceMs).finally(() => {
      this.#waiting = undefined
    })
    return this.#waiting
  }
}

export function unavailable(why: string): Error {
  return workerErrors.WORKER_CLUSTER_UNAVAILABLE('Redis', why)
}

export function isClusterUnavailable(error: unknown): boolean {
  return (error instanceof Error && 'code' in error && error.code === 'WORKER_CLUSTER_UNAVAILABLE') || isRedisUnavailable(error)
}
