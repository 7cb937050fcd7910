import type { Job } from 'bullmq'

/** How something is delivered: a signed HTTP request, a message to Slack, or an email. */
export type Channel = 'webhook' | 'slack' | 'email'

export type DeliveryEvent = 'job.completed' | 'job.failed' | 'queue.alert'

export const deliveryEvents: readonly DeliveryEvent[] = ['job.completed', 'job.failed', 'queue.alert']

/** One attempt to deliver. */
export interface DeliveryTry {
  /** ISO 8601. */
  readonly at: string
  /** HTTP status, or the code of the mail server; null without a response. */
  readonly status: number | null
  readonly ms: number
  /** Null when it was accepted. */
  readonly error: string | null
}

/** The data of the job that delivers. It holds neither the URL nor a secret. */
export interface DeliveryData {
  /** The id of the endpoint. */
  readonly endpoint: string
  readonly channel: Channel
  readonly event: DeliveryEvent
  /** The queue that the event is about. */
  readonly queue: string
  /** The body of the request. */
  readonly body: string
  /** The newest last. */
  readonly tries: readonly DeliveryTry[]
}

/** `pending`: it waits, is under way, or will be tried again. `failed`: its attempts are used up; it can be sent again. */
export type DeliveryState = 'pending' | 'delivered' | 'failed'

/** A delivery as the log shows it. */
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
  /** When it is tried again. */
  readonly nextAt: string | null
  readonly attempts: number
  readonly maxAttempts: number
  /** Why it failed last; null when it was delivered, or not tried yet. */
  readonly error: string | null
  readonly tries: readonly DeliveryTry[]
}

/** Most attempts that a delivery remembers. */
const mostTries = 20

export function withTry(tries: readonly DeliveryTry[], one: DeliveryTry): readonly DeliveryTry[] {
  return [...tries, one].slice(-mostTries)
}

/** What the job that delivers holds, out of its stored form. */
export interface DeliveryContent {
  readonly data: DeliveryData
  /** The attempt that was accepted. */
  readonly accepted: DeliveryTry | undefined
}

/** A job of the delivery queue as the log shows it; `state` as BullMQ names it. */
export function deliveryOf(job: Job, { accepted, data }: DeliveryContent, state: string): Delivery {
  const { channel, endpoint, event, queue, tries } = data
  const delivered = state === 'completed'
  const all = accepted === undefined ? tries : withTry(tries, accepted)
  const last = tries.at(-1)
  const since = last === undefined ? job.timestamp : Date.parse(last.at) + last.ms
  return {
    id: job.id ?? '',
    endpoint,
    channel,
    event,
    queue,
    state: delivered ? 'delivered' : state === 'failed' ? 'failed' : 'pending',
    createdAt: new Date(job.timestamp).toISOString(),
    endedAt: job.finishedOn ? new Date(job.finishedOn).toISOString() : null,
    nextAt: state === 'delayed' ? new Date(since + Number(job.delay ?? 0)).toISOString() : null,
    attempts: job.attemptsMade,
    maxAttempts: Math.max(1, job.opts.attempts ?? 1),
    error: delivered ? null : (job.failedReason ?? all.at(-1)?.error ?? null),
    tries: all,
  }
}
