import { createHash } from 'node:crypto'
import { messageOf } from 'zin'
import type { RedisClient } from 'zin/plugins/redis'

/** A Lua script that is sent to a server once, and then called by digest. */
export class RedisScript {
  readonly #text: string
  readonly #digest: string

  constructor(text: string) {
    this.#text = text
    this.#digest = createHash('sha1').update(text).digest('hex')
  }

  async run(client: RedisClient, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await client.evalsha(this.#digest, keys.length, ...keys, ...args)
    } catch (error) {
      // A restarted server, or another node of a cluster, does not have the script.
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error
      return client.eval(this.#text, keys.length, ...keys, ...args)
    }
  }
}
