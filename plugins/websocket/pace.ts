/**
 * Counts the messages of a connection against a rate: up to one second's worth at once. While the connection is not read, messages wait
 * in the network, so that time counts in full: a client is not blamed for a slow handler.
 */
export class Pace {
  readonly #perSecond: number
  #tokens: number
  #at: number
  #paused = false

  /** @param now monotonic, in ms. */
  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond
    this.#tokens = perSecond
    this.#at = now
  }

  /** Counts one message. Returns whether it is within the rate. */
  take(now: number): boolean {
    this.#refill(now)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  pause(now: number): void {
    this.#refill(now)
    this.#paused = true
  }

  resume(now: number): void {
    this.#refill(now)
    this.#paused = false
  }

  #refill(now: number): void {
    const grown = this.#tokens + (Math.max(0, now - this.#at) / 1000) * this.#perSecond
    this.#at = now
    // What arrived meanwhile is read after `resume`, so what was earned before is kept until it is used.
    this.#tokens = this.#paused ? grown : Math.min(grown, Math.max(this.#perSecond, this.#tokens))
  }
}
