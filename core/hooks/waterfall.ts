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

  /** As `call`, but without a promise unless a listener returns one. */
  pass(value: unknown, ...args: unknown[]): unknown {
    const { listeners } = this
    let current = value
    let called = 0
    for (const listener of listeners) {
      called++
      const answer = ask(listener, [current, ...args], this.#clock)
      if (isThenable(answer)) return this.#resume(answer, listeners.slice(called), current, args)
      if (answer !== undefined) current = answer
    }
    return current
  }

  async #run(listeners: readonly Listener[], value: unknown, args: readonly unknown[]): Promise<unknown> {
    let current = value
    for (const listener of listeners) {
      const answer = ask(listener, [current, ...args], this.#clock)
      const next = isThenable(answer) ? await answer : answer
      if (next !== undefined) current = next
    }
    return current
  }

  async #resume(answer: PromiseLike<unknown>, rest: readonly Listener[], value: unknown, args: readonly unknown[]): Promise<unknown> {
    const next = await answer
    return this.#run(rest, next === undefined ? value : next, args)
  }
}
