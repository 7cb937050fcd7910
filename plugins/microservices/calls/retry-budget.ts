const slices = 10
const sliceMs = 1000

/** Limits of the retry budget of a service. */
export interface BudgetRules {
  /** Retries for each call. */
  readonly ratio: number
  /** Retries per second in addition. */
  readonly perSecond: number
}

/**
 * Retry budget of one service over the last 10 s: at most `ratio` × calls + `perSecond` × 10 retries, so that retries never multiply the
 * load on a service that is down. Works like the budgets of Finagle and Linkerd, with ten slices instead of a bucket.
 */
export class RetryBudget {
  readonly #rules: BudgetRules
  readonly #calls = new Float64Array(slices)
  readonly #retries = new Float64Array(slices)
  #slice = 0

  constructor(rules: BudgetRules) {
    this.#rules = rules
  }

  /** Counts a call. @param now by the monotonic clock, in ms. */
  call(now: number): void {
    this.#move(now)
    add(this.#calls, this.#slice)
  }

  /** Returns whether one more retry is allowed, and counts it. */
  retry(now: number): boolean {
    this.#move(now)
    const { ratio, perSecond } = this.#rules
    if (sum(this.#retries) + 1 > ratio * sum(this.#calls) + (perSecond * slices * sliceMs) / 1000) return false
    add(this.#retries, this.#slice)
    return true
  }

  /** Empties the slices that have passed. */
  #move(now: number): void {
    const slice = Math.floor(now / sliceMs)
    for (let passed = Math.min(slice - this.#slice, slices); passed > 0; passed--) {
      const index = (slice - passed + 1) % slices
      this.#calls[index] = 0
      this.#retries[index] = 0
    }
    this.#slice = slice
  }
}

function add(counts: Float64Array, slice: number): void {
  const index = slice % slices
  counts[index] = (counts[index] ?? 0) + 1
}

function sum(counts: Float64Array): number {
  return counts.reduce((total, count) => total + count, 0)
}
