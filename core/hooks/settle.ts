import type { Clock } from '../util/clock.js'
import { askLater } from './ask.js'
import { toError } from './failure.js'
import type { ListenerFailure } from './kinds.js'
import { Slot } from './slot.js'

const NO_FAILURES: Promise<readonly ListenerFailure[]> = Promise.resolve(Object.freeze([]))

/** Runs all listeners in parallel and awaits them; returns those that failed or timed out. */
export class SettleSlot extends Slot {
  readonly kind = 'settle'
  readonly #clock: Clock

  constructor(name: string, clock: Clock) {
    super(name)
    this.#clock = clock
  }

  call(...args: unknown[]): Promise<readonly ListenerFailure[]> {
    return this.active ? this.#run(args) : NO_FAILURES
  }

  async #run(args: readonly unknown[]): Promise<readonly ListenerFailure[]> {
    const { listeners } = this
    this.record(args)
    const outcomes = await Promise.allSettled(listeners.map((listener) => askLater(listener, args, this.#clock)))
    return listeners.flatMap(({ plugin, hook }, index) => {
      const outcome = outcomes[index]
      return outcome?.status === 'rejected' ? [{ plugin, hook, error: toError(outcome.reason) }] : []
    })
  }
}
