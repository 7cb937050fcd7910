import { setTimeout as delay } from 'node:timers/promises'

/** The jobs of one consumer that run right now. */
export class RunningJobs {
  #count = 0
  #begun = 0
  #whenEmpty: (() => void)[] = []

  get count(): number {
    return this.#count
  }

  async track<T>(run: () => Promise<T>): Promise<T> {
    this.#begun++
    this.#count++
    try {
      return await run()
    } finally {
      this.#count--
      if (this.#count === 0) for (const tell of this.#whenEmpty.splice(0)) tell()
    }
  }

  /** Resolves once nothing ran for `ms`. Rejects when the signal says that nobody waits any more. */
  async quiet(ms: number, signal: AbortSignal): Promise<void> {
    let begun: number
    do {
      await this.#empty()
      begun = this.#begun
      await delay(ms, undefined, { signal })
    } while (this.#count > 0 || this.#begun !== begun)
  }

  #empty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#whenEmpty.push(resolve)
    })
  }
}
