/** Limits the number of concurrent starts; further ones wait in order. */
export class StartLanes {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Runs a start when a lane is free. Rejects with the reason of the signal if that is aborted before the start begins. */
  async run<T>(start: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#turn(signal)
    try {
      // The signal may have been aborted just after the lane was passed on.
      signal.throwIfAborted()
      return await start()
    } finally {
      // The lane passes to the next in line without becoming free, so that no other start can take it.
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }

  /** Resolves when a lane is passed on to the caller. An aborted signal ends the wait at once. */
  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const take = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1)
        reject(signal.reason)
      }
      this.#waiting.push(take)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }
}
