import { AsyncLocalStorage } from 'node:async_hooks'
import type { Trace } from './trace.js'

/** What the request that is served says about the calls that are made for it. */
export interface Scope {
  readonly trace?: Trace
  /** When its caller stops waiting, by the monotonic clock in ms. */
  readonly deadline?: number
  /** It is a repeat, so what it calls is not repeated: attempts would multiply. */
  readonly isRetry: boolean
}

/** The scope of the current request of one app. */
export class Scopes {
  readonly #storage = new AsyncLocalStorage<Scope>()

  get current(): Scope | undefined {
    return this.#storage.getStore()
  }

  run<T>(scope: Scope, task: () => T): T {
    return this.#storage.run(scope, task)
  }
}
