import type { Clock, Logger } from 'zin'

/** The result of an export; code 0 is success. */
export interface ExportResult {
  readonly code: number
  readonly error?: Error
}

export interface QuietOptions {
  readonly clock: Clock
  readonly log: Logger
  /** `traces` or `metrics`, for the log. */
  readonly what: string
  readonly endpoint: string
}

const everyMs = 60_000

/** Logs export failures with their reason, at most once a minute. */
export class ExportFailures {
  readonly #options: QuietOptions
  #loggedAt: number | undefined
  #since = 0

  constructor(options: QuietOptions) {
    this.#options = options
  }

  /** Wraps an export callback: records the result and always reports success to the SDK, which would otherwise log failures itself. */
  readonly noting =
    (done: (result: ExportResult) => void): ((result: ExportResult) => void) =>
    (result) => {
      if (result.code === 0) this.#recovered()
      else this.#failed(result.error)
      done({ code: 0 })
    }

  #failed(error: Error | undefined): void {
    const { clock, endpoint, log, what } = this.#options
    this.#since++
    const now = clock.monotonic()
    if (this.#loggedAt !== undefined && now - this.#loggedAt < everyMs) return
    const why = (error?.message ?? 'unknown error').slice(0, 200)
    log.warn({ endpoint, failed: this.#since }, `${what} could not be sent to ${endpoint} and were dropped: ${why}`)
    this.#loggedAt = now
    this.#since = 0
  }

  #recovered(): void {
    const { endpoint, log, what } = this.#options
    if (this.#loggedAt !== undefined) log.info({ endpoint }, `${what} are being sent again`)
    this.#loggedAt = undefined
    this.#since = 0
  }
}
