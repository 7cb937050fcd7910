import { createHash } from 'node:crypto'
import type { Job } from 'bullmq'
import type { QueueEvent } from 'zin/plugins/queues'
import type { QueueAlert } from '../alerts/alerts.js'
import type { DeliveryEvent } from '../deliveries/delivery.js'

/** The events of queues that are delivered, by BullMQ's names: a job fails once, when its attempts are used up. */
export const jobEvents: Readonly<Record<string, 'job.completed' | 'job.failed'>> = { completed: 'job.completed', failed: 'job.failed' }

/** The body of a delivery about a job; null where it is not known, because the job was removed at its end. Pure. */
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

/** The body of a delivery about an alert. Pure. */
export function alertBody({ at, queue, reason, rule, state, threshold, value }: QueueAlert): string {
  const data = { jobId: null, queue, status: state, processingTime: null, attempts: null, rule, value, threshold, reason }
  return JSON.stringify({ event: 'queue.alert' satisfies DeliveryEvent, timestamp: at, data })
}

/** The `webhook-id` of what happened once, for one endpoint: the same whenever it is made. Pure. */
export function messageId(endpoint: string, ...what: readonly string[]): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([endpoint, ...what]))
    .digest('base64url')
  return `msg_${digest.slice(0, 27)}`
}

/** When a stored event happened, ms since 1970, where its id tells. Pure. */
export function eventTime({ id }: Pick<QueueEvent, 'id'>): number | undefined {
  const [, ms] = /^(\d{13})-\d+$/.exec(id) ?? []
  return ms === undefined ? undefined : Number(ms)
}
