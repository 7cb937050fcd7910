import { messageOf } from 'zin'
import type { RedisClient } from './client.js'
import { isRedisUnavailable, whenReady } from './open.js'

/** How long a command waits for a lost connection, in ms. */
const reconnectWaitMs = 1_000

export interface RedisScriptsOptions {
  /** The client; undefined before its owner has started. */
  readonly redis: () => RedisClient | undefined
  /** KEYS[1], the prefix of every key of the scripts, after the client's own prefix. With one pair of braces, so that all keys share a slot. */
  readonly base: string
  /** Creates the error for an unavailable Redis from the reason. */
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

  /** The client. Throws the error from `unavailable` before its owner has started and after it has stopped. */
  client(): RedisClient {
    const client = this.#options.redis()
    if (client === undefined) throw this.#options.unavailable('it is not connected')
    return client
  }

  /**
   * Runs a script with EVAL: Redis caches compiled scripts. Unlike EVALSHA this also works after a restart of Redis, so that the
   * commands of a process keep their order.
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

  /** One wait shared by all commands. */
  #ready(client: RedisClient): Promise<boolean> {
    this.#waiting ??= whenReady(client, reconnectWaitMs).finally(() => {
      this.#waiting = undefined
    })
    return this.#waiting
  }
}
