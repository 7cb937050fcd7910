import { AsyncLocalStorage } from 'node:async_hooks'
import type { Trace } from './trace.js'

/** Properties of the current request that apply to the calls made for it. */
export interface Scope {
  readonly trace?: Trace
  /** Deadline of its caller, by the monotonic clock in ms. */
  readonly deadline?: number
  /** The request is a retry, so its calls are not retried: attempts would multiply. */
  readonly isRetry: boolean
}

/** Tracks the scope of the current request of an app. */
export class Scopes {
  readonly #storage = new AsyncLocalStorage<Scope>()

  get current(): Scope | undefined {
    return this.#storage.getStore()
  }

  run<T>(scope: Scope, task: () => T): T {
    return this.#storage.run(scope, task)
  }

  /** Ends the tracking, which costs every asynchronous operation of the process a little. */
  close(): void {
    this.#storage.disable()
  }
}
