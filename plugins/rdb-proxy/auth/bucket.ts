/** Token bucket that refills continuously; it holds at most the tokens of one minute. */
export class Bucket {
  readonly #perMinute: number
  #tokens: number
  #at: number

  /** @param now by a monotonic clock, in ms; the same applies to {@link take}. */
  constructor(perMinute: number, now: number) {
    this.#perMinute = perMinute
    this.#tokens = perMinute
    this.#at = now
  }

  /** Takes a token. If there is none, returns the number of seconds until the next one. */
  take(now: number): number | undefined {
    this.#tokens = Math.min(this.#perMinute, this.#tokens + ((now - this.#at) * this.#perMinute) / 60_000)
    this.#at = now
    if (this.#tokens < 1) return Math.ceil(((1 - this.#tokens) * 60) / this.#perMinute)
    this.#tokens--
    return undefined
  }
}
