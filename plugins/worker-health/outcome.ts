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

/** The last checks of a worker on all its nodes, as the history keeps them. */
export interface HealthSample {
  readonly worker: string
  /** The node with the last failing check, or with the last check when none fails. */
  readonly node: string
  /** When the newest check ended, ms since 1970. */
  readonly at: number
  /** Whether no check fails. */
  readonly healthy: boolean
  /** Health score over all nodes at that time, 0–100. */
  readonly score: number
  /** Duration of the check on `node`, in ms. */
  readonly durationMs: number
  readonly error: string | null
}

/** The last check of a worker on one node. */
export type NodeCheck = Pick<CheckOutcome, 'healthy' | 'durationMs' | 'error' | 'at'> & { readonly node: string }

/** Sums up the checks of a worker; undefined when there are none. */
export function sampleOf(worker: string, score: number, checks: readonly NodeCheck[]): HealthSample | undefined {
  const failing = checks.filter((check) => !check.healthy)
  const [decisive] = [...(failing.length > 0 ? failing : checks)].sort((a, b) => b.at - a.at)
  if (decisive === undefined) return undefined
  const { node, healthy, durationMs, error = null } = decisive
  return { worker, node, at: Math.max(...checks.map((check) => check.at)), healthy, score, durationMs, error }
}
