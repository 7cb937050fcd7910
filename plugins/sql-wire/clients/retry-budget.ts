/** Limits the share of retries, which only add load while most calls fail. */
export interface RetryBudget {
  /** Takes one retry; returns false if the budget is exhausted. */
  take(): boolean
  /** Records a successful call. */
  succeeded(): void
}

/** Creates a budget: a retry costs 1, a successful call adds 0.1. It starts at `limit`, which it never exceeds. */
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
