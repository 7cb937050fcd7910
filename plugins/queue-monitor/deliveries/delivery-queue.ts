import type { NewJob } from 'zin/plugins/queues'

/** The queue of all deliveries. Neither its jobs nor its numbers are shown as those of other queues, and it has no events of its own. */
export const deliveryQueue = 'zin-deliveries'

export interface DeliveryLimits {
  /** Delays between attempts, ms. */
  readonly retries: readonly number[]
  /** Deliveries at once. */
  readonly concurrency: number
  /** Most deliveries that wait for one endpoint; further events are dropped and counted. */
  readonly backlog: number
}

/** The states of BullMQ's jobs by those of deliveries. */
export const deliveryLists = {
  failed: ['failed'],
  pending: ['active', 'waiting', 'delayed'],
  delivered: ['completed'],
} as const

const day = 86_400
const keptSeconds = { delivered: day, failed: 7 * day }

/** Of the job that delivers the message with this id. */
export function jobOptions(id: string, limits: Pick<DeliveryLimits, 'retries'>): NonNullable<NewJob['options']> {
  return {
    jobId: id,
    attempts: limits.retries.length + 1,
    backoff: { type: 'delivery' },
    removeOnComplete: { age: keptSeconds.delivered },
    removeOnFail: { age: keptSeconds.failed },
    stackTraceLimit: 1,
  }
}
