/** How long a stop waits for running jobs, and then for cancelled ones, in ms. */
export interface StopLimits {
  readonly drainMs: number
  readonly cancelMs: number
}

/** The waits of a stop. They can be shortened, including those in progress. */
export class StopWaits {
  #limits: StopLimits
  readonly #cuts = new Set<(limits: StopLimits) => void>()

  constructor(limits: StopLimits) {
    this.#limits = limits
  }

  /** Limits all waits from now on. */
  shorten({ drainMs, cancelMs }: StopLimits): void {
    this.#limits = { drainMs: Math.min(drainMs, this.#limits.drainMs), cancelMs: Math.min(cancelMs, this.#limits.cancelMs) }
    for (const cut of this.#cuts) cut(this.#limits)
  }

  /** Waits for work that ends by itself. Returns whether it succeeded in time. */
  drained(work: Promise<unknown>): Promise<boolean> {
    return this.#inTime(work, ({ drainMs }) => drainMs)
  }

  /** Waits for cancelled work. Returns whether it succeeded in time. */
  cancelled(work: Promise<unknown>): Promise<boolean> {
    return this.#inTime(work, ({ cancelMs }) => cancelMs)
  }

  async #inTime(work: Promise<unknown>, msOf: (limits: StopLimits) => number): Promise<boolean> {
    const timers: NodeJS.Timeout[] = []
    let cut = (_limits: StopLimits): void => undefined
    const late = new Promise<false>((resolve) => {
      // The earliest timer ends the wait.
      cut = (limits) => void timers.push(setTimeout(resolve, msOf(limits), false))
    })
    this.#cuts.add(cut)
    cut(this.#limits)
    try {
      return await Promise.race([
        work.then(
          () => true,
          () => false,
        ),
        late,
      ])
    } finally {
      this.#cuts.delete(cut)
      for (const timer of timers) clearTimeout(timer)
    }
  }
}
