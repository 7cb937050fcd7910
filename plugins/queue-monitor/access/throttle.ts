import type { Clock } from 'zin'

const windowMs = 60_000
const mostFailures = 10
/** Networks that are remembered; beyond it, the oldest is forgotten. */
const mostNetworks = 10_000

/** Counts wrong credentials by network in this process. */
export class FailureThrottle {
  readonly #clock: Clock
  readonly #failures = new Map<string, { count: number; readonly since: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Seconds until a network may try again; 0: now. */
  waitSeconds(network: string): number {
    const failed = this.#failures.get(network)
    if (failed === undefined || failed.count < mostFailures) return 0
    const leftMs = failed.since + windowMs - this.#clock.monotonic()
    if (leftMs <= 0) this.#failures.delete(network)
    return Math.max(0, Math.ceil(leftMs / 1000))
  }

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
