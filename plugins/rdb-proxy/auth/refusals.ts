import { LRUCache } from 'lru-cache'
import { type Clock, clientNetwork } from 'zin'
import { WireError } from 'zin/plugins/sql-wire'
import { Bucket } from './bucket.js'

/** Number of addresses to remember; least recently used ones are forgotten first. */
const mostAddresses = 10_000

/**
 * Counts requests with an invalid signature by address. Correctly signed requests are never counted and always pass: edge callers share
 * addresses with strangers, who must not be able to lock them out.
 */
export class Refusals {
  readonly #clock: Clock
  readonly #perMinute: number
  readonly #buckets = new LRUCache<string, Bucket>({ max: mostAddresses })

  /** @param perMinute 0: no limit. */
  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock
    this.#perMinute = perMinute
  }

  /** Counts a refused request. Throws RATE_LIMITED if the address has too many. */
  count(address: string): void {
    if (this.#perMinute === 0) return
    const now = this.#clock.monotonic()
    const network = clientNetwork(address)
    const bucket = this.#buckets.get(network) ?? new Bucket(this.#perMinute, now)
    this.#buckets.set(network, bucket)
    const retryAfterS = bucket.take(now)
    if (retryAfterS !== undefined)
      throw new WireError('RATE_LIMITED', 'Too many requests from this address had an invalid signature', { retryAfterS })
  }
}
