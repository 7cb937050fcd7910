import type { Clock } from '../util/clock.js'
import { isThenable } from '../util/thenable.js'
import { ask } from './ask.js'
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
    let current = value
    for (const listener of this.listeners) {
      const answer = ask(listener, [current, ...args], this.#clock)
      const next = isThenable(answer) ? await answer : answer
      if (next !== undefined) current = next
    }
    return current
  }
}
