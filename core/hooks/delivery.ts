import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { isThenable } from '../util/thenable.js'
import type { MutedListener } from './catalogue.js'
import { hookTimeout, toError } from './failure.js'
import type { Listener } from './listener.js'
import type { Watchdog, Watched } from './watchdog.js'

/** Number of consecutive failures after which a listener is muted. */
export const MUTE_AFTER = 50
/** Time in ms until a muted listener is retried with one call. */
export const MUTE_MS = 30_000

export interface DeliveryParts {
  readonly clock: Clock
  readonly log: Logger
  readonly watchdog: Watchdog
  readonly onMuted: (muted: MutedListener) => void
}

/** The slow path of notify calls: results, muting, unawaited promises and queues. */
export class Delivery {
  readonly #parts: DeliveryParts
  readonly #queues = new WeakMap<Listener, SequentialQueue>()

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  /** Handles a call if the listener is muted, full or sequential, or if the call is timed. */
  careful(listener: Listener, args: readonly unknown[]): void {
    if (listener.pending >= listener.maxPending) {
      listener.dropped++
      return
    }
    let trial = false
    if (listener.muted) {
      if (this.#parts.clock.monotonic() < listener.retryAt) {
        listener.dropped++
        return
      }
      listener.retryAt = Number.POSITIVE_INFINITY
      trial = true
    }
    if (listener.sequential) this.#queueOf(listener).add(args, trial)
    else this.run(listener, args, trial)
  }

  /** Calls the listener. Returns true if the result is a promise; `then` runs when it has settled or timed out. */
  run(listener: Listener, args: readonly unknown[], trial: boolean, then?: () => void): boolean {
    const startedAt = listener.sampleNext ? this.#parts.clock.monotonic() : undefined
    listener.calls++
    const { handler } = listener
    try {
      const result = handler(...args)
      if (startedAt !== undefined) listener.sample(this.#parts.clock.monotonic() - startedAt)
      if (isThenable(result)) {
        this.track(listener, result, trial, then)
        return true
      }
    } catch (thrown) {
      this.failed(listener, thrown, trial)
      return false
    }
    this.succeeded(listener, trial)
    return false
  }

  /** Tracks an unawaited promise. */
  track(listener: Listener, result: PromiseLike<unknown>, trial: boolean, then?: () => void): void {
    const call = new PendingCall(this, listener, trial, then)
    this.#parts.watchdog.watch(call)
    Promise.resolve(result).then(
      () => call.fulfilled(),
      (thrown: unknown) => call.rejected(thrown),
    )
  }

  forget(call: PendingCall): void {
    this.#parts.watchdog.forget(call)
  }

  succeeded(listener: Listener, trial: boolean): void {
    // The result of a call that started before the mute does not show the current state of the listener.
    if (listener.muted && !trial) return
    listener.failuresInRow = 0
    if (!listener.muted) return
    listener.muted = false
    this.#parts.log.info({ plugin: listener.plugin, hook: listener.hook }, 'listener succeeded again and is no longer muted')
  }

  failed(listener: Listener, thrown: unknown, trial: boolean): void {
    listener.errors++
    this.#count(listener, toError(thrown), trial)
  }

  timedOut(listener: Listener, trial: boolean): void {
    listener.timeouts++
    this.#count(listener, hookTimeout(listener), trial)
  }

  /** Drops the queued calls of a sequential listener, e.g. because it was removed. */
  clear(listener: Listener): void {
    this.#queues.get(listener)?.clear()
  }

  #count(listener: Listener, error: Error, trial: boolean): void {
    const { clock, log, onMuted } = this.#parts
    const { plugin, hook } = listener
    listener.failuresInRow++
    if (listener.failuresInRow === 1)
      log.error({ plugin, hook, err: error }, 'listener failed; further consecutive failures are only counted')
    if (trial) listener.retryAt = clock.monotonic() + MUTE_MS
    if (listener.muted || listener.failuresInRow < MUTE_AFTER) return
    listener.muted = true
    listener.retryAt = clock.monotonic() + MUTE_MS
    this.clear(listener)
    log.warn({ plugin, hook, failures: listener.failuresInRow }, `listener is muted; one call is tried every ${MUTE_MS / 1000} s`)
    onMuted({ plugin, hook, failures: listener.failuresInRow, error })
  }

  #queueOf(listener: Listener): SequentialQueue {
    let queue = this.#queues.get(listener)
    if (queue === undefined) {
      queue = new SequentialQueue(listener, this)
      this.#queues.set(listener, queue)
    }
    return queue
  }
}

/** An unawaited promise. Whichever happens first counts: it settles or times out. */
class PendingCall implements Watched {
  since: number | undefined = undefined
  readonly timeoutMs: number
  readonly #delivery: Delivery
  readonly #listener: Listener
  readonly #trial: boolean
  readonly #then: (() => void) | undefined
  #open = true

  constructor(delivery: Delivery, listener: Listener, trial: boolean, then: (() => void) | undefined) {
    this.timeoutMs = listener.timeoutMs
    this.#delivery = delivery
    this.#listener = listener
    this.#trial = trial
    this.#then = then
    listener.pending++
  }

  fulfilled(): void {
    if (!this.#open) return
    this.#delivery.forget(this)
    this.#end()
    this.#delivery.succeeded(this.#listener, this.#trial)
    this.#then?.()
  }

  rejected(thrown: unknown): void {
    if (!this.#open) return
    this.#delivery.forget(this)
    this.#end()
    this.#delivery.failed(this.#listener, thrown, this.#trial)
    this.#then?.()
  }

  expire(): void {
    this.#end()
    this.#delivery.timedOut(this.#listener, this.#trial)
    this.#then?.()
  }

  #end(): void {
    this.#open = false
    this.#listener.pending--
  }
}

interface QueuedCall {
  readonly args: readonly unknown[]
  readonly trial: boolean
}

/** Runs the calls of one sequential listener one at a time. A call that has timed out no longer blocks the next one. */
class SequentialQueue {
  readonly #listener: Listener
  readonly #delivery: Delivery
  #waiting: QueuedCall[] = []
  #busy = false

  constructor(listener: Listener, delivery: Delivery) {
    this.#listener = listener
    this.#delivery = delivery
  }

  /** The caller has checked `maxPending`. */
  add(args: readonly unknown[], trial: boolean): void {
    this.#waiting.push({ args, trial })
    this.#listener.pending++
    if (!this.#busy) this.#drain()
  }

  clear(): void {
    const dropped = this.#waiting.length
    this.#waiting = []
    this.#listener.pending -= dropped
    this.#listener.dropped += dropped
  }

  #drain(): void {
    this.#busy = true
    for (let call = this.#waiting.shift(); call !== undefined; call = this.#waiting.shift()) {
      this.#listener.pending--
      if (this.#delivery.run(this.#listener, call.args, call.trial, () => this.#drain())) return
    }
    this.#busy = false
  }
}
