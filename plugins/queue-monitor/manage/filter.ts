import type { Job } from 'bullmq'
import type { ListedStatus } from '../contract.js'
import { monitorErrors } from '../errors.js'

/** Selects the jobs of a queue for an operation. */
export interface JobFilter {
  /** Default: `failed` for a retry, `waiting` and `delayed` for a cancel. Required for a purge. */
  readonly status?: 'waiting' | 'delayed' | 'active' | 'completed' | 'failed' | 'all'
  /** Age in ms, or an ISO 8601 time: selects jobs that ended (or, if unfinished, were created) before. */
  readonly olderThan?: number | string
  /** Selects jobs with at most this many attempts. */
  readonly maxAttempts?: number
}

export type BulkAction = 'retry' | 'cancel' | 'purge'

/** A resolved filter. */
export interface Selection {
  readonly states: readonly ListedStatus[]
  /** Jobs that ended or were created at this time (ms since the Unix epoch) or later are not selected. */
  readonly before: number
  readonly maxAttempts: number
}

const statesOf: Readonly<Record<BulkAction, Readonly<Record<string, readonly ListedStatus[]>>>> = {
  retry: { default: ['failed'], failed: ['failed'] },
  cancel: {
    default: ['waiting', 'delayed'],
    waiting: ['waiting'],
    delayed: ['delayed'],
    active: ['active'],
    all: ['waiting', 'delayed', 'active'],
  },
  purge: {
    completed: ['completed'],
    failed: ['failed'],
    waiting: ['waiting'],
    delayed: ['delayed'],
    all: ['completed', 'failed', 'waiting', 'delayed'],
  },
}

/** Resolves a filter. Jobs that end or are created at `now` or later are never selected. Throws INVALID_JOB_FILTER (400). Pure. */
export function selectionOf(action: BulkAction, { maxAttempts, olderThan, status }: JobFilter, now: number): Selection {
  const table = statesOf[action]
  const key = status ?? 'default'
  const states = Object.hasOwn(table, key) ? table[key] : undefined
  if (states === undefined) {
    const allowed = Object.keys(table).filter((name) => name !== 'default')
    throw monitorErrors.INVALID_JOB_FILTER(`status for ${action} must be one of ${allowed.join(', ')}`)
  }
  return { states, before: beforeOf(olderThan, now), maxAttempts: maxAttempts ?? Number.POSITIVE_INFINITY }
}

export function isSelected(job: Pick<Job, 'finishedOn' | 'timestamp' | 'attemptsMade'>, { before, maxAttempts }: Selection): boolean {
  return (job.finishedOn ?? job.timestamp) < before && job.attemptsMade <= maxAttempts
}

function beforeOf(olderThan: number | string | undefined, now: number): number {
  if (olderThan === undefined) return now
  const at = typeof olderThan === 'number' ? now - olderThan : Date.parse(olderThan)
  const isTime = typeof olderThan === 'number' || /^\d{4}-\d\d-\d\d(T|$)/.test(olderThan)
  if (Number.isFinite(at) && isTime && at <= now) return at
  throw monitorErrors.INVALID_JOB_FILTER('olderThan must be an age in ms, such as 3600000, or an ISO 8601 time in the past')
}
