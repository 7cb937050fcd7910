/** What a health check answers. `details` is shown as it is, so it must be JSON and hold no secret. */
export interface HealthCheckResult {
  readonly healthy: boolean
  readonly details?: unknown
  readonly error?: string
}

/** Tells whether a worker can do its jobs. Aborted when it takes too long. Throwing is the same as `healthy: false`. */
export type WorkerHealthCheck = (workerName: string, signal: AbortSignal) => HealthCheckResult | Promise<HealthCheckResult>

/** The last check of a worker in one process, as other processes see it. */
export interface CheckReport {
  readonly healthy: boolean
  /** Failures in a row, this one included. */
  readonly failures: number
  /** ms the check took. */
  readonly durationMs: number
  readonly error?: string
  readonly details?: unknown
  /** ms since 1970. */
  readonly at: number
}
