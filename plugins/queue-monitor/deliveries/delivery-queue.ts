import type { NewJob } from 'zin/plugins/queues'

/** The queue of all deliveries. It is hidden from lists and statistics, and its own events are not delivered. */
export const deliveryQueue = 'zin-deliveries'

export interface DeliveryLimits {
  /** Delays between attempts, in ms. */
  readonly retries: readonly number[]
  /** Concurrent deliveries. */
  readonly concurrency: number
  /** Limit on waiting deliveries per endpoint; further events are dropped and counted. */
  readonly backlog: number
}

/** BullMQ job states by delivery state. Delayed ones have failed and will be tried again; they come before those that were not tried yet. */
export const deliveryLists = {
  failed: ['failed'],
  pending: ['active', 'delayed', 'waiting'],
  delivered: ['completed'],
} as const

const day = 86_400
const keptSeconds = { delivered: day, failed: 7 * day }

/** Returns the job options for the delivery of the message with this id. */
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
