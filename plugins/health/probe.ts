import { type Clock, messageOf } from 'zin'
import type { HealthCheck, HealthMeasurement } from './contract.js'

/** The result of one run of a check. */
export interface Reading {
  /** False when there is nothing to check. */
  readonly present: boolean
  readonly ok: boolean
  /** Integer ms. */
  readonly responseTime: number
  readonly error?: string
  readonly measured?: HealthMeasurement
  /** Wall clock, ms. */
  readonly time: number
}

export interface ProbeLimits {
  readonly timeoutMs: number
  /** How long a reading is reused, in ms. */
  readonly cacheMs: number
  readonly failAfter: number
  readonly passAfter: number
}

const longestFailureCacheMs = 250
/** A run that never settles is abandoned after this many deadlines; otherwise its check would fail forever. */
const abandonAfter = 15

/** Runs one check: one run at a time, with a deadline and a short cache. */
export class Probe {
  readonly #check: Pick<HealthCheck, 'name' | 'run'>
  readonly #limits: ProbeLimits
  readonly #clock: Clock
  readonly #onReading: (reading: Reading, recovered: boolean) => void
  #running: Promise<Reading> | undefined
  #hungSince: number | undefined
  #abort: AbortController | undefined
  #last: { readonly reading: Reading; readonly at: number } | undefined
  #passing = true
  #streak = 0
  #everPassed = false

  constructor(
    check: Pick<HealthCheck, 'name' | 'run'>,
    limits: ProbeLimits,
    clock: Clock,
    onReading: (reading: Reading, recovered: boolean) => void,
  ) {
    this.#check = check
    this.#limits = limits
    this.#clock = clock
    this.#onReading = onReading
  }

  get last(): Reading | undefined {
    return this.#last?.reading
  }

  get everPassed(): boolean {
    return this.#everPassed
  }

  /** Never rejects. Callers during a run share its result. */
  run(): Promise<Reading> {
    if (this.#running !== undefined) return this.#running
    const fresh = this.#fresh()
    if (fresh !== undefined) return Promise.resolve(fresh)
    if (this.#stillHung()) return Promise.resolve(this.#remember(this.#hungReading()))
    this.#running = this.#start().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Aborts a run in progress. */
  close(): void {
    this.#abort?.abort(new Error('the app is shutting down'))
  }

  #fresh(): Reading | undefined {
    if (this.#last === undefined) return undefined
    const { reading, at } = this.#last
    const life = reading.ok ? this.#limits.cacheMs : Math.min(this.#limits.cacheMs, longestFailureCacheMs)
    return this.#clock.monotonic() - at < life ? reading : undefined
  }

  #stillHung(): boolean {
    return this.#hungSince !== undefined && this.#clock.monotonic() - this.#hungSince < this.#limits.timeoutMs * abandonAfter
  }

  #hungReading(): Reading {
    const waited = Math.round(this.#clock.monotonic() - (this.#hungSince ?? 0))
    return {
      present: true,
      ok: false,
      responseTime: waited,
      error: `${this.#check.name} has not responded for ${waited} ms`,
      time: this.#clock.now(),
    }
  }

  async #start(): Promise<Reading> {
    const startedAt = this.#clock.monotonic()
    const abort = new AbortController()
    this.#abort = abort
    let settled = false
    const running = Promise.resolve()
      .then(() => this.#check.run(abort.signal))
      .finally(() => {
        settled = true
        // An abandoned run that settles late must not clear the mark of a later one.
        if (this.#hungSince === startedAt) this.#hungSince = undefined
      })
    const outcome = await this.#bounded(running, abort)
    if (!settled) this.#hungSince = startedAt
    const elapsed = Math.round(this.#clock.monotonic() - startedAt)
    return this.#remember(this.#read(outcome, elapsed))
  }

  /** The value or error of a run, or the error of its deadline; a late result is discarded. */
  async #bounded(running: Promise<unknown>, abort: AbortController): Promise<{ value: unknown } | { error: unknown }> {
    const { timeoutMs } = this.#limits
    const late = new Error(`${this.#check.name} did not respond within ${timeoutMs} ms`)
    const timer = setTimeout(() => abort.abort(late), timeoutMs)
    const aborted = new Promise<never>((_, reject) =>
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true }),
    )
    try {
      return { value: await Promise.race([running, aborted]) }
    } catch (error) {
      return { error: abort.signal.aborted ? abort.signal.reason : error }
    } finally {
      clearTimeout(timer)
    }
  }

  #read(outcome: { value: unknown } | { error: unknown }, elapsed: number): Reading {
    const time = this.#clock.now()
    if ('error' in outcome) return { present: true, ok: false, responseTime: elapsed, error: messageOf(outcome.error), time }
    const { value } = outcome
    if (isMeasurement(value)) {
      const { problem } = value
      return { present: true, ok: problem === undefined, responseTime: elapsed, measured: value, time, ...(problem && { error: problem }) }
    }
    return { present: value !== null, ok: true, responseTime: typeof value === 'number' ? Math.round(value) : elapsed, time }
  }

  /** Applies `failAfter` and `passAfter`: below them, the state of the check does not change. */
  #remember(raw: Reading): Reading {
    this.#streak = raw.ok === this.#passing ? 0 : this.#streak + 1
    // The very first run counts immediately: tolerance must not put into service a dependency that never worked.
    const needed = this.#last === undefined ? 1 : this.#passing ? this.#limits.failAfter : this.#limits.passAfter
    const flipped = this.#streak >= needed
    if (flipped) {
      this.#passing = !this.#passing
      this.#streak = 0
    }
    if (raw.ok) this.#everPassed = true
    const error = this.#passing
      ? undefined
      : (raw.error ?? `${this.#check.name} responds again, but fewer than ${this.#limits.passAfter} times in a row`)
    const reading: Reading = {
      present: raw.present,
      ok: this.#passing,
      responseTime: raw.responseTime,
      time: raw.time,
      ...(error !== undefined && { error }),
      ...(raw.measured !== undefined && { measured: raw.measured }),
    }
    this.#onReading(raw, flipped && raw.ok)
    this.#last = { reading, at: this.#clock.monotonic() }
    return reading
  }
}

function isMeasurement(value: unknown): value is HealthMeasurement {
  return typeof value === 'object' && value !== null && 'unit' in value
}
