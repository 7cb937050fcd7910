import { AsyncResource } from 'node:async_hooks'
import { type Logger, messageOf } from 'zin'

/** Listeners, each called in the async context that added it. One that throws does not affect the others. */
export class Listeners<Args extends readonly unknown[]> {
  readonly #listeners = new Map<symbol, (...args: Args) => void>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  /** Returns a function that removes the listener; after that it is no longer called. */
  add(listener: (...args: Args) => void): () => void {
    const key = Symbol('listener')
    this.#listeners.set(key, AsyncResource.bind(listener))
    return () => void this.#listeners.delete(key)
  }

  call(...args: Args): void {
    for (const key of [...this.#listeners.keys()]) {
      try {
        this.#listeners.get(key)?.(...args)
      } catch (error) {
        this.#log.error({ err: error }, `a cluster listener threw: ${messageOf(error)}`)
      }
    }
  }

  get size(): number {
    return this.#listeners.size
  }
}
