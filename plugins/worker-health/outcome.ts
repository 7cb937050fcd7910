/** How one check of a worker ended. */
export interface CheckOutcome {
  readonly healthy: boolean
  /** Failures in a row that count, this one included; 0 when healthy. */
  readonly failures: number
  /** False for a failure that says nothing of the worker: the queue store was away. */
  readonly counts: boolean
  /** ms. */
  readonly durationMs: number
  readonly error?: string
  readonly details?: unknown
  /** ms since 1970. */
  readonly at: number
}

/** One check as history keeps it. */
export interface HealthSample {
  readonly worker: string
  readonly node: string
  /** ms since 1970. */
  readonly at: number
  readonly healthy: boolean
  /** Health score over all processes at that time, 0–100. */
  readonly score: number
  /** ms. */
  readonly durationMs: number
  readonly error: string | null
}
