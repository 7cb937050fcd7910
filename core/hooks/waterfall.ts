import type { Clock } from '../util/clock.js'
import { isThenable } from '../util/thenable.js'
import { ask } from './ask.js'
import type { Listener } from './listener.js'
import { Slot } from './slot.js'

/** Passes a value from listener to listener. `undefined` leaves it unchanged; a failing listener rejects. */
export class WaterfallSlot extends Slot {
  readonly kind = 'waterfall'
  readonly #clock: Clock

  constructor(name: string, clock: Clock) {
    super(name)
    this.#clock = clock
  }

  call(value: unknown, ...args: unknown[]): Promise<unknown> {
    return this.#run(this.listeners, value, args)
  }

  /** Like `call`, but returns a promise only if a listener returned one. */
  pass(value: unknown, ...args: unknown[]): unknown {
    const { listeners } = this
    let current = value
    let called = 0
    for (const listener of listeners) {
      called++
      const result = ask(listener, [current, ...args], this.#clock)
      if (isThenable(result)) return this.#resume(result, listeners.slice(called), current, args)
      if (result !== undefined) current = result
    }
    return current
  }

  async #run(listeners: readonly Listener[], value: unknown, args: readonly unknown[]): Promise<unknown> {
    let current = value
    for (const listener of listeners) {
      const result = ask(listener, [current, ...args], this.#clock)
      const next = isThenable(result) ? await result : result
      if (next !== undefined) current = next
    }
    return current
  }

  async #resume(result: PromiseLike<unknown>, rest: readonly Listener[], value: unknown, args: readonly unknown[]): Promise<unknown> {
    const next = await result
    return this.#run(rest, next === undefined ? value : next, args)
  }
}
