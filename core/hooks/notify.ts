import { isThenable } from '../util/thenable.js'
import type { Delivery } from './delivery.js'
import { Slot } from './slot.js'

/** Maximum number of arguments; more would need an array on every call. */
export const NOTIFY_MAX_ARGS = 4

/**
 * Calls all listeners in order without awaiting them. A plain call of a synchronous listener allocates nothing; {@link Delivery}
 * handles everything else: sequential, muted or full listeners, timed calls, promises and failures.
 */
export class NotifySlot extends Slot {
  readonly kind = 'notify'
  readonly #delivery: Delivery

  constructor(name: string, delivery: Delivery) {
    super(name)
    this.#delivery = delivery
  }

  call(a?: unknown, b?: unknown, c?: unknown, d?: unknown): void {
    if (!this.active) return
    // biome-ignore lint/complexity/noArguments: the count distinguishes a missing argument from `undefined`; a rest array would be allocated per call
    const count = arguments.length
    if (this.recorders.length > 0) this.record([a, b, c, d].slice(0, count))
    const listeners = this.listeners
    for (let index = 0; index < listeners.length; index++) {
      // biome-ignore lint/style/noNonNullAssertion: the index is in range, and the array never changes
      const listener = listeners[index]!
      if (listener.sequential || listener.muted || listener.sampleNext || listener.pending >= listener.maxPending) {
        this.#delivery.careful(listener, [a, b, c, d].slice(0, count))
        continue
      }
      listener.calls++
      const { handler } = listener
      try {
        const result =
          count === 2
            ? handler(a, b)
            : count === 1
              ? handler(a)
              : count === 3
                ? handler(a, b, c)
                : count === 0
                  ? handler()
                  : handler(a, b, c, d)
        if (isThenable(result)) this.#delivery.track(listener, result, false)
        else if (listener.failuresInRow > 0) this.#delivery.succeeded(listener, false)
      } catch (thrown) {
        this.#delivery.failed(listener, thrown, false)
      }
    }
  }
}
