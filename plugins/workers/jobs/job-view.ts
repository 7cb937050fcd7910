import type { Job } from 'bullmq'
import { levelOf } from 'zin/plugins/queues'
import type { JobStatus, JobView, WorkerJob } from './types.js'

/** BullMQ's states → statuses of the worker API; a job that no longer exists has none. */
const statuses: Readonly<Record<string, JobStatus>> = {
  waiting: 'waiting',
  prioritized: 'waiting',
  'waiting-children': 'waiting',
  paused: 'waiting',
  active: 'active',
  completed: 'completed',
  failed: 'failed',
  delayed: 'delayed',
}

export function statusOf(state: string): JobStatus | undefined {
  return Object.hasOwn(statuses, state) ? statuses[state] : undefined
}

export function isFinished(status: JobStatus): boolean {
  return status === 'completed' || status === 'failed'
}

/** A job as the API returns it; `result` is shown only for a completed job. */
export function workerJob(job: Job, status: JobStatus, result: unknown): WorkerJob {
  return {
    id: job.id ?? '',
    name: job.name,
    queue: job.queueName,
    status,
    priority: levelOf(job.priority),
    attempts: job.attemptsMade,
    maxAttempts: maxAttemptsOf(job),
    stalls: job.stalledCounter,
    progress: job.progress,
    createdAt: new Date(job.timestamp).toISOString(),
    startedAt: isoOf(job.processedOn),
    finishedAt: isFinished(status) ? isoOf(job.finishedOn) : null,
    result: status === 'completed' ? (result ?? null) : null,
    error: status === 'failed' ? (job.failedReason ?? null) : null,
  }
}

/** A job as hooks receive it. */
export function jobView(job: Job, attempt: number): JobView {
  return {
    id: job.id ?? '',
    name: job.name,
    queue: job.queueName,
    data: job.data,
    attempt,
    maxAttempts: maxAttemptsOf(job),
    timestamp: job.timestamp,
  }
}

/** A job that was added without attempts, or with BullMQ's 0, has one. */
function maxAttemptsOf(job: Job): number {
  return Math.max(1, job.opts.attempts ?? 1)
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined || ms === 0 ? null : new Date(ms).toISOString()
}
