import { messageOf } from 'zin'
import type { RedisClient } from './client.js'
import { isRedisUnavailable, whenReady } from './open.js'

/** How long a command waits for a connection that is coming back, in ms. */
const patienceMs = 1_000

export interface RedisScriptsOptions {
  /** The client; undefined before its owner has started. */
  readonly redis: () => RedisClient | undefined
  /** Begins every key of the scripts, after the client's own prefix: KEYS[1]. With one pair of braces, so that all keys share a slot. */
  readonly base: string
  /** The error when Redis cannot be reached, from the reason. */
  readonly unavailable: (why: string) => Error
}

/**
 * Runs Lua scripts on keys under one base, with one round trip each.
 *
 * @example
 * const scripts = new RedisScripts({ redis: () => kv.redis, base: 'shop:{counts}', unavailable: (why) => new Error(why) })
 * await scripts.run<number>(`return redis.call('INCR', KEYS[1] .. ':' .. ARGV[1])`, 'visits')
 */
export class RedisScripts {
  readonly #options: RedisScriptsOptions
  #waiting: Promise<boolean> | undefined

  constructor(options: RedisScriptsOptions) {
    this.#options = options
  }

  /** Throws what `unavailable` gives when its owner has not started, or has ended. */
  client(): RedisClient {
    const client = this.#options.redis()
    if (client === undefined) throw this.#options.unavailable('it is not connected')
    return client
  }

  /**
   * Sends the text of a script: Redis does not compile again what it has seen, and unlike a digest the text is right after Redis was
   * restarted, so that what a process sends keeps its order then too.
   */
  async run<Reply>(script: string, ...values: readonly (string | number)[]): Promise<Reply> {
    const { base, unavailable } = this.#options
    const client = this.client()
    try {
      if (client.status !== 'ready' && !(await this.#ready(client))) throw unavailable('the connection is down')
      return (await client.eval(script, 1, base, ...values)) as Reply
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
