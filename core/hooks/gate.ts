import { messageOf, ZinError } from '../errors.js'
import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { isThenable } from '../util/thenable.js'
import { ask } from './ask.js'
import { type Denial, deny, type Verdict } from './kinds.js'
import type { Listener } from './listener.js'
import { Slot } from './slot.js'

const ALLOWED: Verdict = Object.freeze({ denied: false })
const ALLOWED_LATER: Promise<Verdict> = Promise.resolve(ALLOWED)

/** Calls listeners in sequence until one denies. A listener that fails, times out or returns an invalid value denies. */
export class GateSlot extends Slot {
  readonly kind = 'gate'
  readonly #clock: Clock
  readonly #log: Logger

  constructor(name: string, clock: Clock, log: Logger) {
    super(name)
    this.#clock = clock
    this.#log = log
  }

  call(...args: unknown[]): Promise<Verdict> {
    return this.active ? this.#run(args) : ALLOWED_LATER
  }

  async #run(args: readonly unknown[]): Promise<Verdict> {
    for (const listener of this.listeners) {
      const verdict = await this.#verdictOf(listener, args)
      if (verdict.denied) return verdict
    }
    return ALLOWED
  }

  async #verdictOf(listener: Listener, args: readonly unknown[]): Promise<Verdict> {
    const { plugin, hook } = listener
    try {
      const result = ask(listener, args, this.#clock)
      const value = isThenable(result) ? await result : result
      if (value === undefined) return ALLOWED
      if (isDenial(value)) return { ...deny(value.error ?? value.reason, value), plugin }
    } catch (error) {
      this.#log.error({ plugin, hook, err: error }, 'a gate listener failed, so the action is denied')
      // A listener that is late has not decided: callers may try again.
      const late = error instanceof ZinError && error.code === 'ZIN_HOOK_TIMEOUT' ? { error } : {}
      return { denied: true, reason: messageOf(error), plugin, ...late }
    }
    const reason = `${plugin}: its listener for hook "${hook}" must return deny(reason) or nothing, so the action is denied`
    this.#log.error({ plugin, hook }, reason)
    return { denied: true, reason, plugin }
  }
}

function isDenial(value: unknown): value is Denial {
  if (typeof value !== 'object' || value === null) return false
  const { denied, error, reason, status } = value as Partial<Denial>
  const hasStatus = status === undefined || status === 403 || status === 409
  return denied === true && typeof reason === 'string' && hasStatus && (error === undefined || error instanceof ZinError)
}
