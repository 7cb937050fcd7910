const slices = 10
const sliceMs = 1000

/** What the budget of one service allows. */
export interface BudgetRules {
  /** Further attempts for each call. */
  readonly ratio: number
  /** Further attempts beside them, per second. */
  readonly perSecond: number
}

/**
 * The further attempts of one service within the last 10 s: at most `ratio` × calls + `perSecond` × 10. So retries never multiply the
 * load of a service that is down. As Finagle's and Linkerd's budgets, in ten slices instead of a bucket.
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

  /** Whether one more attempt is allowed; counts it. */
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
