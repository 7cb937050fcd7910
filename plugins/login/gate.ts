/** Limits how many tasks run at a time; others wait in order, and beyond `maxWaiting` they are refused. */
export class Gate {
  readonly #limit: number
  readonly #maxWaiting: number
  readonly #full: () => Error
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limit: number, maxWaiting: number, full: () => Error) {
    this.#limit = limit
    this.#maxWaiting = maxWaiting
    this.#full = full
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1
    else await this.#turn()
    try {
      return await task()
    } finally {
      // The slot passes directly to the next waiting task, so that a new one cannot overtake it.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) throw this.#full()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
