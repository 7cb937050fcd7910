import type { Job } from 'bullmq'
import type { ChangedJob, QueueCounts } from 'zin/plugins/queues'
import type { ListedStatus } from '../contract.js'
import { monitorErrors } from '../errors.js'

/** Selects the jobs of a queue for an operation. */
export interface JobFilter {
  /** Default: `failed` for a retry; `waiting`, `delayed` and `waiting-children` for a cancel. Required for a purge. */
  readonly status?: BulkState | 'all'
  /** Age in ms, or an ISO 8601 time: selects jobs that ended (or, if unfinished, were created) before. */
  readonly olderThan?: number | string
  /** Selects jobs with at most this many attempts. */
  readonly maxAttempts?: number
}

/** A state of jobs that an operation can select. */
export type BulkState = ListedStatus | 'waiting-children'

export type BulkAction = 'retry' | 'cancel' | 'purge'

/** A resolved filter. */
export interface Selection {
  /** In the order in which the jobs are changed: those that wait for others first, because the others are removed with them. */
  readonly states: readonly BulkState[]
  /** Jobs that ended or were created at this time (ms since the Unix epoch) or later are not selected. */
  readonly before: number
  readonly maxAttempts: number
  /** Start of the operation, ms since the Unix epoch. */
  readonly now: number
}

const unstarted: readonly BulkState[] = ['waiting-children', 'delayed', 'waiting']

const statesOf: Readonly<Record<BulkAction, Readonly<Record<string, readonly BulkState[]>>>> = {
  retry: { default: ['failed'], failed: ['failed'] },
  cancel: {
    default: unstarted,
    waiting: ['waiting'],
    delayed: ['delayed'],
    'waiting-children': ['waiting-children'],
    active: ['active'],
    all: [...unstarted, 'active'],
  },
  purge: {
    completed: ['completed'],
    failed: ['failed'],
    waiting: ['waiting'],
    delayed: ['delayed'],
    'waiting-children': ['waiting-children'],
    all: [...unstarted, 'completed', 'failed'],
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
  return { states, before: beforeOf(olderThan, now), maxAttempts: maxAttempts ?? Number.POSITIVE_INFINITY, now }
}

type SelectedJob = Pick<Job, 'finishedOn' | 'timestamp' | 'attemptsMade' | 'processedOn' | 'deferredFailure'>

/** Whether an action acts on a job that is in this state. Pure. */
export function isSelected(
  job: SelectedJob,
  state: BulkState,
  action: BulkAction,
  { before, maxAttempts, now, states }: Selection,
): boolean {
  const at = job.finishedOn ?? job.timestamp
  if (at >= before || job.attemptsMade > maxAttempts) return false
  // It is being cancelled, or will fail when a worker takes it.
  if (action !== 'retry' && job.deferredFailure !== undefined) return false
  // If waiting jobs are not selected, jobs that start during the operation are not either.
  return state !== 'active' || states.includes('waiting') || (job.processedOn ?? now) <= now
}

/** Whether a job that was changed together with another one was itself selected. Pure. */
export function matches({ at, attempts, state }: ChangedJob, { before, maxAttempts, states }: Selection): boolean {
  const named = { wait: 'waiting', paused: 'waiting', prioritized: 'waiting' }[state] ?? state
  return at < before && attempts <= maxAttempts && states.includes(named as BulkState)
}

/** The counts of each state. */
export const statesOfCounts: Readonly<Record<BulkState, keyof QueueCounts>> = {
  waiting: 'waiting',
  active: 'active',
  delayed: 'delayed',
  completed: 'completed',
  failed: 'failed',
  'waiting-children': 'waitingChildren',
}

function beforeOf(olderThan: number | string | undefined, now: number): number {
  if (olderThan === undefined) return now
  const at = typeof olderThan === 'number' ? now - olderThan : Date.parse(olderThan)
  const isTime = typeof olderThan === 'number' || /^\d{4}-\d\d-\d\d(T|$)/.test(olderThan)
  if (Number.isFinite(at) && isTime && at <= now) return at
  throw monitorErrors.INVALID_JOB_FILTER('olderThan must be an age in ms, such as 3600000, or an ISO 8601 time in the past')
}
