/** How long a stop waits, in ms: for running jobs to end, and then for cancelled ones. */
export interface StopLimits {
  readonly drainMs: number
  readonly cancelMs: number
}

/** The waits of stops. They can be shortened, also the one that lasts right now. */
export class StopWaits {
  #limits: StopLimits
  #cut: (limits: StopLimits) => void = () => undefined

  constructor(limits: StopLimits) {
    this.#limits = limits
  }

  /** From now on no wait takes longer than these. */
  shorten({ drainMs, cancelMs }: StopLimits): void {
    this.#limits = { drainMs: Math.min(drainMs, this.#limits.drainMs), cancelMs: Math.min(cancelMs, this.#limits.cancelMs) }
    this.#cut(this.#limits)
  }

  /** Waits until work ended by itself. True when it succeeded in time. */
  drained(work: Promise<unknown>): Promise<boolean> {
    return this.#inTime(work, ({ drainMs }) => drainMs)
  }

  /** Waits until work ended that was cancelled. True when it succeeded in time. */
  cancelled(work: Promise<unknown>): Promise<boolean> {
    return this.#inTime(work, ({ cancelMs }) => cancelMs)
  }

  async #inTime(work: Promise<unknown>, msOf: (limits: StopLimits) => number): Promise<boolean> {
    const timers: NodeJS.Timeout[] = []
    const late = new Promise<false>((resolve) => {
      // The timer that is due first ends the wait.
      this.#cut = (limits) => void timers.push(setTimeout(resolve, msOf(limits), false))
    })
    this.#cut(this.#limits)
    try {
      return await Promise.race([
        work.then(
          () => true,
          () => false,
        ),
        late,
      ])
    } finally {
      this.#cut = () => undefined
      for (const timer of timers) clearTimeout(timer)
    }
  }
}
