import type { Clock, Logger } from 'zin'

/** What an export ends with: 0 is a success. */
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

/** Says at most once a minute that exports fail, and why; the app goes on. */
export class ExportFailures {
  readonly #options: QuietOptions
  #toldAt: number | undefined
  #since = 0

  constructor(options: QuietOptions) {
    this.#options = options
  }

  /** Notes a result, and passes on a success: the SDK would log failures by itself, in its own words. */
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
    if (this.#toldAt !== undefined && now - this.#toldAt < everyMs) return
    const why = (error?.message ?? 'unknown').slice(0, 200)
    log.warn({ endpoint, failed: this.#since }, `${what} could not be sent to ${endpoint} and were dropped: ${why}`)
    this.#toldAt = now
    this.#since = 0
  }

  #recovered(): void {
    const { endpoint, log, what } = this.#options
    if (this.#toldAt !== undefined) log.info({ endpoint }, `${what} are sent again`)
    this.#toldAt = undefined
    this.#since = 0
  }
}
