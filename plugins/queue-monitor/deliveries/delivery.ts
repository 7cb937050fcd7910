import type { ReadJob } from 'zin/plugins/queues'

/** How a message is delivered: as a signed HTTP request, a Slack message, or an email. */
export type Channel = 'webhook' | 'slack' | 'email'

export const deliveryEvents = [
  'job.completed',
  'job.failed',
  'queue.alert',
  'queue.alert.cleared',
  'attention.raised',
  'attention.cleared',
] as const

export type DeliveryEvent = (typeof deliveryEvents)[number]

/** The events of an endpoint that names none: those of queues. */
export const defaultEvents: readonly DeliveryEvent[] = ['job.completed', 'job.failed', 'queue.alert', 'queue.alert.cleared']

/** A delivery attempt. */
export interface DeliveryTry {
  /** ISO 8601. */
  readonly at: string
  /** HTTP status, or the reply code of the mail server; null without a response. */
  readonly status: number | null
  readonly ms: number
  /** Null if the attempt was accepted. */
  readonly error: string | null
}

/** The data of a delivery job. It contains neither the URL nor a secret. */
export interface DeliveryData {
  /** The id of the endpoint. */
  readonly endpoint: string
  readonly channel: Channel
  readonly event: DeliveryEvent
  /** The queue the event is about; empty if it is about the app, `*` if about all queues. */
  readonly queue: string
  /** The body of the request. */
  readonly body: string
  /** Oldest first. */
  readonly tries: readonly DeliveryTry[]
}

/** `pending`: waiting, in flight, or to be retried. `failed`: all attempts have failed; it can be resent. */
export type DeliveryState = 'pending' | 'delivered' | 'failed'

/** A delivery in the log. */
export interface Delivery {
  /** The `webhook-id`: the same in each attempt. */
  readonly id: string
  readonly endpoint: string
  readonly channel: Channel
  readonly event: DeliveryEvent
  readonly queue: string
  readonly state: DeliveryState
  /** ISO 8601. */
  readonly createdAt: string
  readonly endedAt: string | null
  /** Time of the next attempt; null if none is scheduled. */
  readonly nextAt: string | null
  readonly attempts: number
  readonly maxAttempts: number
  /** The latest failure; null if it was delivered or has not been attempted yet. */
  readonly error: string | null
  readonly tries: readonly DeliveryTry[]
}

/** Limit on attempts recorded per delivery. */
const mostTries = 20

export function withTry(tries: readonly DeliveryTry[], one: DeliveryTry): readonly DeliveryTry[] {
  return [...tries, one].slice(-mostTries)
}

/** The decoded content of a delivery job. */
export interface DeliveryContent {
  readonly data: DeliveryData
  /** The attempt that was accepted. */
  readonly accepted: DeliveryTry | undefined
}

/** Converts a job of the delivery queue to a log entry. `state` is the BullMQ state. */
export function deliveryOf(job: ReadJob, { accepted, data }: DeliveryContent, state: string): Delivery {
  const { channel, endpoint, event, queue, tries } = data
  const delivered = state === 'completed'
  const all = accepted === undefined ? tries : withTry(tries, accepted)
  return {
    id: job.id ?? '',
    endpoint,
    channel,
    event,
    queue,
    state: delivered ? 'delivered' : state === 'failed' ? 'failed' : 'pending',
    createdAt: new Date(job.timestamp).toISOString(),
    endedAt: job.finishedOn ? new Date(job.finishedOn).toISOString() : null,
    nextAt: job.readyAt === undefined ? null : new Date(job.readyAt).toISOString(),
    attempts: job.attemptsMade,
    maxAttempts: Math.max(1, job.opts.attempts ?? 1),
    error: delivered ? null : (job.failedReason ?? all.at(-1)?.error ?? null),
    tries: all,
  }
}
