export type CircuitState = 'closed' | 'open' | 'half-open'

export interface CircuitRules {
  readonly minimumCalls: number
  readonly failureRatio: number
  /** Failed connections in a row. */
  readonly connectFailures: number
  readonly openMs: number
  readonly maxOpenMs: number
}

export interface CircuitTransition {
  readonly from: CircuitState
  readonly to: CircuitState
  readonly reason: string
}

/** How an attempt ended: a connection that failed, any other failure, or a response that is none. */
export type AttemptOutcome = 'ok' | 'failed' | 'connect-failed'

const slices = 10
const sliceMs = 1000

/**
 * The circuit breaker of one instance: a rolling window of 10 s while it is closed, one probe at a time once its time is over. Pure: the
 * caller gives the time by the monotonic clock, in ms, and a random number.
 */
export class Circuit {
  readonly #rules: CircuitRules
  readonly #calls = new Float64Array(slices)
  readonly #failed = new Float64Array(slices)
  #slice = 0
  #connectFailures = 0
  #state: CircuitState = 'closed'
  #until = 0
  #openings = 0
  #probing = false

  constructor(rules: CircuitRules) {
    this.#rules = rules
  }

  get state(): CircuitState {
    return this.#state
  }

  /** How long calls are blocked: 0 when one may go; `Infinity` while a probe is under way. */
  blockedMs(now: number): number {
    if (this.#state === 'closed') return 0
    if (this.#state === 'open') return Math.max(0, this.#until - now)
    return this.#probing ? Number.POSITIVE_INFINITY : 0
  }

  /** Begins a call that {@link blockedMs} lets go. The first one after its time is the probe. */
  begin(): CircuitTransition | undefined {
    if (this.#state === 'closed') return undefined
    this.#probing = true
    return this.#state === 'open' ? this.#to('half-open', 'its time is over; one call goes as a probe') : undefined
  }

  /** @param random 0 to 1, so that callers do not probe at once. */
  end(outcome: AttemptOutcome, now: number, random: number): CircuitTransition | undefined {
    if (this.#state === 'half-open') return this.#probed(outcome, now, random)
    if (this.#state === 'open') return undefined
    this.#move(now)
    const index = this.#slice % slices
    this.#calls[index] = (this.#calls[index] ?? 0) + 1
    this.#connectFailures = outcome === 'connect-failed' ? this.#connectFailures + 1 : 0
    if (outcome === 'ok') return undefined
    this.#failed[index] = (this.#failed[index] ?? 0) + 1
    const { connectFailures, minimumCalls, failureRatio } = this.#rules
    const calls = this.#calls.reduce((sum, count) => sum + count, 0)
    const failed = this.#failed.reduce((sum, count) => sum + count, 0)
    if (this.#connectFailures >= connectFailures) return this.#open(now, random, `${this.#connectFailures} connections failed in a row`)
    if (calls >= minimumCalls && failed >= calls * failureRatio)
      return this.#open(now, random, `${failed} of ${calls} calls within 10 s failed`)
    return undefined
  }

  #probed(outcome: AttemptOutcome, now: number, random: number): CircuitTransition {
    this.#probing = false
    if (outcome !== 'ok') return this.#open(now, random, 'the probe failed')
    this.#openings = 0
    this.#connectFailures = 0
    this.#calls.fill(0)
    this.#failed.fill(0)
    return this.#to('closed', 'the probe succeeded')
  }

  #open(now: number, random: number, reason: string): CircuitTransition {
    const { openMs, maxOpenMs } = this.#rules
    const full = Math.min(openMs * 2 ** this.#openings, maxOpenMs)
    this.#openings = Math.min(this.#openings + 1, 30)
    this.#until = now + full * (0.8 + 0.2 * random)
    return this.#to('open', reason)
  }

  #to(to: CircuitState, reason: string): CircuitTransition {
    const from = this.#state
    this.#state = to
    return { from, to, reason }
  }

  #move(now: number): void {
    const slice = Math.floor(now / sliceMs)
    for (let passed = Math.min(slice - this.#slice, slices); passed > 0; passed--) {
      const index = (slice - passed + 1) % slices
      this.#calls[index] = 0
      this.#failed[index] = 0
    }
    this.#slice = slice
  }
}
