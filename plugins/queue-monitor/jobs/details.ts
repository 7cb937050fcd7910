import type { Job } from 'bullmq'
import { levelOf, type ReadJob } from 'zin/plugins/queues'
import type { Scope } from '../access/scope.js'
import type { JobDetails, MonitorStatus } from '../contract.js'
import type { ShownPayload } from './payloads.js'

const statuses: Readonly<Record<string, MonitorStatus>> = { active: 'processing', completed: 'completed', failed: 'failed' }

/** Converts a BullMQ state to a monitor status. */
export function statusOf(state: string): MonitorStatus {
  return Object.hasOwn(statuses, state) ? (statuses[state] as MonitorStatus) : 'waiting'
}

/** What a caller sees of a job. */
export interface DetailsView {
  readonly scope: Scope
  /** Whether the error, the stacks and the progress are shown. */
  readonly texts: boolean
  readonly shown?: ShownPayload | undefined
}

/** Converts a BullMQ job to job details. */
export function detailsOf(job: ReadJob, state: string, { scope, shown, texts }: DetailsView): JobDetails {
  const status = statusOf(state)
  const error = status === 'completed' ? null : job.failedReason || null
  const progress = job.progress ?? null
  const isCount = typeof progress !== 'object' && typeof progress !== 'string'
  const parent = job.parentKey === undefined ? null : withoutPrefix(job.parentKey, job)
  const ended = status === 'completed' || status === 'failed'
  const { finishedOn, processedOn } = job
  return {
    id: job.id ?? '',
    queue: job.queueName,
    status,
    payload: shown?.payload ?? null,
    attempts: job.attemptsMade,
    maxAttempts: Math.max(1, job.opts.attempts ?? 1),
    createdAt: isoOf(job.timestamp) ?? '',
    startedAt: isoOf(processedOn),
    completedAt: status === 'completed' ? isoOf(finishedOn) : null,
    failedAt: status === 'failed' ? isoOf(finishedOn) : null,
    error: texts ? error : null,
    processingTime: ended && finishedOn && processedOn ? Math.max(0, finishedOn - processedOn) : null,
    name: job.name,
    state,
    priority: levelOf(job.priority),
    readyAt: state === 'delayed' ? isoOf(job.readyAt) : null,
    progress: texts || isCount ? progress : null,
    attemptsStarted: job.attemptsStarted,
    stalls: job.stalledCounter,
    parent: parent !== null && scope.sees(parent.slice(0, parent.indexOf(':'))) ? parent : null,
    payloadBytes: shown?.payloadBytes ?? null,
    payloadTruncated: shown?.payloadTruncated ?? false,
    withheld: !texts && (error !== null || !isCount || (job.stacktrace?.length ?? 0) > 0),
  }
}

/** Returns `<queue>:<id>` from the key of another job of the same app. Ids of scheduled jobs contain colons, queue names do not. */
export function withoutPrefix(key: string, { queueName, queueQualifiedName }: Pick<Job, 'queueName' | 'queueQualifiedName'>): string {
  return key.slice(queueQualifiedName.length - queueName.length)
}

/** Returns null for a time that is unset or out of the range of dates. */
function isoOf(ms: number | undefined): string | null {
  if (ms === undefined || !(Math.abs(ms) > 0 && Math.abs(ms) <= 8.64e15)) return null
  return new Date(ms).toISOString()
}
