const minuteMs = 60_000
/** Maximum number of keys; beyond it, the key whose last job started longest ago is dropped. */
const mostKeys = 10_000

/** Decides when the jobs of a key may start: a number per minute, in a burst or evenly (the generic cell rate algorithm). */
export class Pace {
  /** By key: when its next job would be due at an even pace, in ms. */
  readonly #even = new Map<string, number>()

  /** Starts a job now and returns 0, or returns how long to wait, in ms. `now` is in ms. */
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
