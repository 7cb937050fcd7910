/** Limits the share of retries: while most calls fail, retries only add load. */
export interface RetryBudget {
  /** Takes one retry; false when the budget is used up. */
  take(): boolean
  /** A call succeeded. */
  succeeded(): void
}

/** A retry costs 1, a successful call adds a tenth; `limit` is what the budget begins with and never exceeds. */
export function retryBudget(limit = 10): RetryBudget {
  let tenths = limit * 10
  return {
    take() {
      if (tenths < 10) return false
      tenths -= 10
      return true
    },
    succeeded() {
      tenths = Math.min(limit * 10, tenths + 1)
    },
  }
}
