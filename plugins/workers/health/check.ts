/** The result of a health check. `details` is shown unchanged, so it must be JSON and must not contain secrets. */
export interface HealthCheckResult {
  readonly healthy: boolean
  readonly details?: unknown
  readonly error?: string
}

/** Checks whether a worker can run its jobs. The signal is aborted at the deadline. Throwing is the same as `healthy: false`. */
export type WorkerHealthCheck = (workerName: string, signal: AbortSignal) => HealthCheckResult | Promise<HealthCheckResult>

/** The last health check of a worker on one node, as other nodes see it. */
export interface CheckReport {
  readonly healthy: boolean
  /** Number of consecutive failures, including this one. */
  readonly failures: number
  /** Duration of the check, ms. */
  readonly durationMs: number
  readonly error?: string
  readonly details?: unknown
  /** ms since 1970. */
  readonly at: number
}
