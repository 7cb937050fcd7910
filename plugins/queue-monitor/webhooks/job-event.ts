import { createHash } from 'node:crypto'
import type { Job } from 'bullmq'
import type { QueueEvent } from 'zin/plugins/queues'
import type { QueueAlert } from '../alerts/alerts.js'
import type { AttentionChange } from '../hooks.js'

/** The delivered queue events, by BullMQ name. `failed` fires once per job, after its last attempt. */
export const jobEvents: Readonly<Record<string, 'job.completed' | 'job.failed'>> = { completed: 'job.completed', failed: 'job.failed' }

/** Builds the body of a delivery about a job. Fields are null if the job was removed on completion. Pure. */
export function jobBody(event: 'job.completed' | 'job.failed', queue: string, jobId: string, job: Job | undefined, now: number): string {
  const { attemptsMade, finishedOn, processedOn } = job ?? {}
  return JSON.stringify({
    event,
    timestamp: new Date(finishedOn ?? now).toISOString(),
    data: {
      jobId,
      queue,
      status: event === 'job.completed' ? 'completed' : 'failed',
      processingTime: finishedOn && processedOn ? Math.max(0, finishedOn - processedOn) : null,
      attempts: attemptsMade ?? null,
    },
  })
}

/** The event of an alert: `queue.alert` while its threshold is exceeded, as the specification has it. */
export function alertEvent({ state }: Pick<QueueAlert, 'state'>): 'queue.alert' | 'queue.alert.cleared' {
  return state === 'raised' ? 'queue.alert' : 'queue.alert.cleared'
}

/** Builds the body of a delivery about an alert. Pure. */
export function alertBody({ at, queue, reason, rule, state, threshold, value }: QueueAlert): string {
  const data = { jobId: null, queue, status: state, processingTime: null, attempts: null, rule, value, threshold, reason }
  return JSON.stringify({ event: alertEvent({ state }), timestamp: at, data })
}

/** The event of a change of what needs attention. */
export function attentionEvent({ state }: Pick<AttentionChange, 'state'>): 'attention.raised' | 'attention.cleared' {
  return state === 'raised' ? 'attention.raised' : 'attention.cleared'
}

/** Builds the body of a delivery about what needs attention. `rule` and `reason` are those of an alert, for receivers that know alerts. Pure. */
export function attentionBody({ at, item, state }: AttentionChange): string {
  const { act, cause, count, id, kind, queue = null, severity, since, subject } = item
  const alert = { jobId: null, queue, status: state, processingTime: null, attempts: null, rule: kind, reason: cause }
  const data = { ...alert, id, kind, subject, severity, since, count, cause, act }
  return JSON.stringify({ event: attentionEvent({ state }), timestamp: at, data })
}

/** Returns the deterministic `webhook-id` of an event for an endpoint. Pure. */
export function messageId(endpoint: string, ...what: readonly string[]): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([endpoint, ...what]))
    .digest('base64url')
  return `msg_${digest.slice(0, 27)}`
}

/** Returns the time of a stored event in ms since the Unix epoch, if its id contains one. Pure. */
export function eventTime({ id }: Pick<QueueEvent, 'id'>): number | undefined {
  const [, ms] = /^(\d{13})-\d+$/.exec(id) ?? []
  return ms === undefined ? undefined : Number(ms)
}
