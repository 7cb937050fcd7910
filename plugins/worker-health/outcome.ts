/** The result of one check of a worker. */
export interface CheckOutcome {
  readonly healthy: boolean
  /** Consecutive counted failures, including this one; 0 when healthy. */
  readonly failures: number
  /** False for a failure that is not the worker's: the queue store was unavailable. */
  readonly counts: boolean
  /** ms. */
  readonly durationMs: number
  readonly error?: string
  readonly details?: unknown
  /** ms since 1970. */
  readonly at: number
}

/** One check in the history. */
export interface HealthSample {
  readonly worker: string
  readonly node: string
  /** ms since 1970. */
  readonly at: number
  readonly healthy: boolean
  /** Health score over all nodes at that time, 0–100. */
  readonly score: number
  /** ms. */
  readonly durationMs: number
  readonly error: string | null
}
