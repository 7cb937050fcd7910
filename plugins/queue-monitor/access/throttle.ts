import type { Clock } from 'zin'

const windowMs = 60_000
const mostFailures = 10
/** Limit on tracked networks; beyond it, the oldest is dropped. */
const mostNetworks = 10_000

/** Throttles failed sign-in attempts by network: 10 per minute, counted in this process. */
export class FailureThrottle {
  readonly #clock: Clock
  readonly #failures = new Map<string, { count: number; readonly since: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the seconds until a network may try again; 0 if it may try now. */
  waitSeconds(network: string): number {
    const failed = this.#failures.get(network)
    if (failed === undefined || failed.count < mostFailures) return 0
    const leftMs = failed.since + windowMs - this.#clock.monotonic()
    if (leftMs <= 0) this.#failures.delete(network)
    return Math.max(0, Math.ceil(leftMs / 1000))
  }

  /** Counts a failed attempt. */
  failed(network: string): void {
    const now = this.#clock.monotonic()
    const known = this.#failures.get(network)
    if (known !== undefined && now - known.since < windowMs) {
      known.count++
      return
    }
    this.#failures.delete(network)
    this.#failures.set(network, { count: 1, since: now })
    const [oldest] = this.#failures.size > mostNetworks ? this.#failures.keys() : []
    if (oldest !== undefined) this.#failures.delete(oldest)
  }
}
