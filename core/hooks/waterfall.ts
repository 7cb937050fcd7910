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

  async call(value: unknown, ...args: unknown[]): Promise<unknown> {
    return this.pass(value, ...args)
  }

  /** As `call`, but without a promise unless a listener returns one. */
  pass(value: unknown, ...args: unknown[]): unknown {
    return this.#passFrom(0, this.listeners, value, args)
  }

  #passFrom(index: number, listeners: readonly Listener[], value: unknown, args: readonly unknown[]): unknown {
    const listener = listeners[index]
    if (listener === undefined) return value
    const answer = ask(listener, [value, ...args], this.#clock)
    const next = (given: unknown): unknown => this.#passFrom(index + 1, listeners, given === undefined ? value : given, args)
    return isThenable(answer) ? Promise.resolve(answer).then(next) : next(answer)
  }
}
