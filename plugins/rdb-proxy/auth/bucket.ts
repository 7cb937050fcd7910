/** Tokens that come back steadily; at most as many as come back in a minute. */
export class Bucket {
  readonly #perMinute: number
  #tokens: number
  #at: number

  /** @param now of a clock that only goes ahead, in ms; as with {@link take}. */
  constructor(perMinute: number, now: number) {
    this.#perMinute = perMinute
    this.#tokens = perMinute
    this.#at = now
  }

  /** Takes one. Without one it returns in how many seconds there is one again. */
  take(now: number): number | undefined {
    this.#tokens = Math.min(this.#perMinute, this.#tokens + ((now - this.#at) * this.#perMinute) / 60_000)
    this.#at = now
    if (this.#tokens < 1) return Math.ceil(((1 - this.#tokens) * 60) / this.#perMinute)
    this.#tokens--
    return undefined
  }
}
