import { LRUCache } from 'lru-cache'
import { type Clock, clientNetwork } from 'zin'
import { WireError } from 'zin/plugins/sql-wire'
import { Bucket } from './bucket.js'

/** Addresses that are remembered; those that were refused last. */
const mostAddresses = 10_000

/**
 * Counts the requests of each address that were refused for their signature. A request that is rightly signed is never counted and passes
 * whatever its address did: callers at the edge share theirs with strangers, who must not be able to lock them out.
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

  /** Counts one. Throws RATE_LIMITED when the address had too many. */
  count(address: string): void {
    if (this.#perMinute === 0) return
    const now = this.#clock.monotonic()
    const network = clientNetwork(address)
    const bucket = this.#buckets.get(network) ?? new Bucket(this.#perMinute, now)
    this.#buckets.set(network, bucket)
    const retryAfterS = bucket.take(now)
    if (retryAfterS !== undefined)
      throw new WireError('RATE_LIMITED', 'Too many requests from this address were not rightly signed', { retryAfterS })
  }
}
