import type { Clock } from '../util/clock.js'
import { isThenable } from '../util/thenable.js'
import { ask } from './ask.js'
import { Slot } from './slot.js'

const NO_RESULT: Promise<undefined> = Promise.resolve(undefined)

/**
 * Calls listeners in sequence until one returns something other than `undefined`. A failure ends the sequence: a broken resolver
 * must not fall through to a weaker one.
 */
export class FirstSlot extends Slot {
  readonly kind = 'first'
  readonly #clock: Clock

  constructor(name: string, clock: Clock) {
    super(name)
    this.#clock = clock
  }

  call(...args: unknown[]): Promise<unknown> {
    return this.active ? this.#run(args) : NO_RESULT
  }

  async #run(args: readonly unknown[]): Promise<unknown> {
    for (const listener of this.listeners) {
      const result = ask(listener, args, this.#clock)
      const value = isThenable(result) ? await result : result
      if (value !== undefined) return value
    }
    return undefined
  }
}
