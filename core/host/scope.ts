import type { Disposer } from '../util/disposer.js'

/** The registrations of one plugin, undone last in, first out. A failure does not affect the others. */
export class Scope {
  readonly #disposers: Disposer[] = []

  /** Adds a disposer. The returned function runs it early, at most once. */
  add(dispose: Disposer): Disposer {
    const entry = (): void => {
      const index = this.#disposers.indexOf(entry)
      if (index < 0) return
      this.#disposers.splice(index, 1)
      dispose()
    }
    this.#disposers.push(entry)
    return entry
  }

  get size(): number {
    return this.#disposers.length
  }

  /** Runs all disposers and returns their errors. */
  unwind(): readonly Error[] {
    const failures: Error[] = []
    for (let dispose = this.#disposers.at(-1); dispose !== undefined; dispose = this.#disposers.at(-1)) {
      try {
        dispose()
      } catch (error) {
        failures.push(error instanceof Error ? error : new Error(String(error)))
      }
    }
    return failures
  }
}
