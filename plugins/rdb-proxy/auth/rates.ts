import type { Clock } from 'zin'
import { WireError } from 'zin/plugins/sql-wire'
import { Bucket } from './bucket.js'
import type { ProxyKey } from './keys.js'

interface Share {
  readonly bucket: Bucket
  running: number
}

/** Limits the requests of each key: per minute, with a token bucket, and in flight. */
export class Rates {
  readonly #shares = new Map<string, Share>()
  readonly #clock: Clock
  readonly #inFlight: number

  constructor(clock: Clock, inFlight: number) {
    this.#clock = clock
    this.#inFlight = inFlight
  }

  /** Counts a request. Throws RATE_LIMITED. The caller calls the returned function when the request has ended. */
  enter({ id, perMinute }: ProxyKey): () => void {
    const now = this.#clock.monotonic()
    const share = this.#shares.get(id) ?? { bucket: new Bucket(perMinute, now), running: 0 }
    this.#shares.set(id, share)
    if (share.running >= this.#inFlight)
      throw new WireError('RATE_LIMITED', `This key has ${this.#inFlight} requests in flight, which is the maximum`)
    const retryAfterS = perMinute > 0 ? share.bucket.take(now) : undefined
    if (retryAfterS !== undefined)
      throw new WireError('RATE_LIMITED', `This key may send ${perMinute} requests per minute`, {
        retryAfterS,
        details: { limit: perMinute },
      })
    share.running++
    let left = false
    return () => {
      if (left) return
      left = true
      share.running--
    }
  }
}
