import type { Clock } from '../util/clock.js'
import { hostErrors } from './errors.js'

/** Time reserved for the end of the process, in ms: the last log lines and the exit. */
const exitMs = 500

/** The deadline shared by all phases of a shutdown: each gets the time that earlier ones left. */
export class ShutdownTime {
  readonly #clock: Clock
  readonly #ms: number
  readonly #boot = new AbortController()
  #endsAt: number | undefined

  constructor(clock: Clock, deadlineMs: number) {
    this.#clock = clock
    this.#ms = deadlineMs - Math.min(exitMs, deadlineMs / 20)
  }

  /** Starts the countdown. Afterwards, no plugin begins to set up, start or become ready. */
  begin(): void {
    this.#endsAt ??= this.#clock.monotonic() + this.#ms
  }

  get begun(): boolean {
    return this.#endsAt !== undefined
  }

  /** Remaining time in ms; the full time before the shutdown begins. */
  get leftMs(): number {
    return this.#endsAt === undefined ? this.#ms : Math.max(0, this.#endsAt - this.#clock.monotonic())
  }

  /** Aborted when the shutdown stops waiting for plugins that are still starting. */
  get boot(): AbortSignal {
    return this.#boot.signal
  }

  /** Stops waiting for plugins that are still starting. */
  cutBoot(): void {
    this.#boot.abort(hostErrors.ZIN_BOOT_STOPPED())
  }
}
