import { ZinError } from '../errors.js'
import type { Clock } from '../util/clock.js'
import { askLater } from './ask.js'
import { toError } from './failure.js'
import { Slot } from './slot.js'

/** Calls all listeners in parallel. If a listener fails, its result is the thrown error or `ZIN_HOOK_TIMEOUT`. */
export class CollectSlot extends Slot {
  readonly kind = 'collect'
  readonly #clock: Clock
  readonly #nothing: Promise<ReadonlyMap<string, unknown>> = Promise.resolve(new Map())

  constructor(name: string, clock: Clock) {
    super(name)
    this.#clock = clock
  }

  call(...args: unknown[]): Promise<ReadonlyMap<string, unknown>> {
    return this.active ? this.#run(args) : this.#nothing
  }

  async #run(args: readonly unknown[]): Promise<ReadonlyMap<string, unknown>> {
    const { listeners } = this
    const results = await Promise.all(listeners.map((listener) => askLater(listener, args, this.#clock).catch(errorOf)))
    const timesSeen = new Map<string, number>()
    return new Map(
      listeners.map(({ plugin }, index) => {
        const seen = (timesSeen.get(plugin) ?? 0) + 1
        timesSeen.set(plugin, seen)
        return [seen === 1 ? plugin : `${plugin}#${seen}`, results[index]] as const
      }),
    )
  }
}

/** The map already names the plugin, so the original error is more useful than a wrapper. */
function errorOf(thrown: unknown): Error {
  const error = toError(thrown)
  return error instanceof ZinError && error.code === 'ZIN_HOOK_FAILED' && error.cause instanceof Error ? error.cause : error
}
