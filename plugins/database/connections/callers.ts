import { AsyncLocalStorage } from 'node:async_hooks'

/** One call of `transaction()`, and the one that it was made in. */
export interface Call {
  readonly outer: Call | undefined
  state: 'begins' | 'open' | 'ended'
}

/** The calls of `transaction()` on the only connection of a database, and the code that runs in them. */
export class Callers {
  readonly #storage = new AsyncLocalStorage<Call>()

  async run<T>(work: () => Promise<T>): Promise<T> {
    const call: Call = { outer: this.#storage.getStore(), state: 'begins' }
    try {
      return await this.#storage.run(call, work)
    } finally {
      call.state = 'ended'
    }
  }

  /** Called when a transaction begins. Returns its call; undefined for the transactions of a batch and of a migration. */
  begun(): Call | undefined {
    const call = this.#storage.getStore()
    if (call?.state !== 'begins') return undefined
    call.state = 'open'
    return call
  }

  /** Whether the running code was started in a call that satisfies the test. */
  within(test: (call: Call) => boolean): boolean {
    for (let call = this.#storage.getStore(); call !== undefined; call = call.outer) if (test(call)) return true
    return false
  }
}
