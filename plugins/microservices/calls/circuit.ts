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

/** How an attempt ended: a failed connection, any other failure, or a response that is not a failure. */
export type AttemptOutcome = 'ok' | 'failed' | 'connect-failed'

const slices = 10
const sliceMs = 1000

/**
 * The circuit breaker of one instance: a rolling window of 10 s while closed, one probe at a time after it was open for its period. Pure:
 * the caller passes the time by the monotonic clock, in ms, and a random number.
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

  /** How long calls are blocked, in ms: 0 if a call is allowed, `Infinity` while a probe is in flight. */
  blockedMs(now: number): number {
    if (this.#state === 'closed') return 0
    if (this.#state === 'open') return Math.max(0, this.#until - now)
    return this.#probing ? Number.POSITIVE_INFINITY : 0
  }

  /** Begins a call that {@link blockedMs} allows. It is the probe if the circuit is half-open afterwards. */
  begin(): CircuitTransition | undefined {
    if (this.#state === 'closed') return undefined
    this.#probing = true
    return this.#state === 'open' ? this.#to('half-open', 'its open period is over; one call is sent as a probe') : undefined
  }

  /**
   * Counts the outcome of a call. Outside of the closed state only the probe counts: calls that began earlier may end at any time.
   *
   * @param random 0 to 1, so that callers do not all probe at the same moment.
   * @param probe whether the call is the probe.
   */
  end(outcome: AttemptOutcome, now: number, random: number, probe = false): CircuitTransition | undefined {
    if (this.#state === 'half-open') return probe ? this.#probed(outcome, now, random) : undefined
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
