/** Lets a few starts go on at the same time; others wait in order. */
export class StartLanes {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** A start that is waiting when the signal is aborted rejects with its reason. */
  async run<T>(start: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    try {
      signal.throwIfAborted()
      return await start()
    } finally {
      // The lane goes to the next in line without becoming free, so that nobody slips in between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
