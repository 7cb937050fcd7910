const minuteMs = 60_000
/** Most keys that are remembered; with more, those that began longest ago are forgotten. */
const mostKeys = 10_000

/** When jobs of a key may begin: so many a minute, all at once or one by one (the generic cell rate algorithm). */
export class Pace {
  /** Key → when its last job would have begun at an even pace, ms. */
  readonly #even = new Map<string, number>()

  /** Begins a job now and returns 0, or returns how long to wait for that, in ms. `now` is in ms. */
  begin(key: string, perMinute: number, now: number): number {
    const interval = minuteMs / perMinute
    const even = Math.max(this.#even.get(key) ?? 0, now)
    const wait = even + interval - minuteMs - now
    if (wait > 0) return Math.ceil(wait)
    this.#even.delete(key)
    this.#even.set(key, even + interval)
    const [oldest] = this.#even.keys()
    if (this.#even.size > mostKeys && oldest !== undefined) this.#even.delete(oldest)
    return 0
  }
}
