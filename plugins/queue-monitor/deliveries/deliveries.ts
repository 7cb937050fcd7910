import type { Job, Worker } from 'bullmq'
import { type Clock, type Logger, messageOf, type SlotOf } from 'zin'
import type { NewJob, Queues } from 'zin/plugins/queues'
import { demand, type Scope } from '../access/scope.js'
import { monitorErrors } from '../errors.js'
import type { QueueMonitorHooks } from '../hooks.js'
import { type Endpoint, seesEndpoint } from '../webhooks/endpoint.js'
import type { Endpoints } from '../webhooks/endpoints.js'
import { type Channel, type Delivery, type DeliveryData, type DeliveryState, deliveryOf, withTry } from './delivery.js'
import { retryDelay } from './retry.js'
import type { Send, SendOutcome } from './send.js'

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

export interface DeliveriesOptions {
  readonly queues: Queues
  readonly endpoints: Endpoints
  readonly send: Readonly<Record<Channel, Send>>
  readonly limits: DeliveryLimits
  readonly clock: Clock
  readonly log: Logger
  readonly onWebhookChange: SlotOf<QueueMonitorHooks['onWebhookChange']>
  /** Called when a delivery failed for good, and when events were dropped or an endpoint was disabled. */
  readonly onTrouble: (trouble: DeliveryTrouble) => void
  /** Test only. */
  readonly random?: () => number
}

export interface DeliveryTrouble {
  readonly endpoint: Endpoint
  readonly verdict: 'failed' | 'dropped' | 'disabled'
  readonly reason: string
}

/** A message to deliver; its id decides what is the same message. */
export interface NewDelivery extends Omit<DeliveryData, 'tries'> {
  readonly id: string
}

export interface DeliveryPage {
  /** Failed ones first, then pending and delivered ones. */
  readonly deliveries: readonly Delivery[]
  readonly searched: { readonly jobs: number; readonly of: number; readonly complete: boolean }
}

export interface DeliveryQuery {
  readonly endpoint?: string
  readonly state?: DeliveryState
  readonly limit: number
}

const lists = {
  failed: ['failed'],
  pending: ['active', 'waiting', 'delayed'],
  delivered: ['completed'],
} as const
const day = 86_400
/** Deliveries that are kept after their end. */
const mostKept = 5_000
const keptSeconds = { delivered: day, failed: 7 * day }
/** Jobs of the log that one request reads, and at once. */
const mostRead = 2_000
const readAtOnce = 100
/** How long a delivery waits when too many to the same endpoint are under way. */
const crowdedMs = 1_000
const mostCrowdedMs = 60_000

/** The queue of deliveries, and its consumer on the node that leads. */
export class Deliveries {
  readonly #options: DeliveriesOptions
  /** Deliveries that have not ended, by endpoint; only on the node that delivers. */
  readonly #waiting = new Map<string, number>()
  readonly #underWay = new Map<string, number>()
  readonly #crowded = new Map<string, number>()
  #worker: Worker | undefined

  constructor(options: DeliveriesOptions) {
    this.#options = options
  }

  /** Begins to deliver on this node. */
  async open(): Promise<void> {
    if (this.#worker !== undefined) return
    const { limits, queues, random = Math.random } = this.#options
    await this.#count()
    this.#worker = queues.worker(deliveryQueue, (job, token, signal) => this.#deliver(job, token, signal), {
      concurrency: limits.concurrency,
      maxStalledCount: 100,
      settings: {
        backoffStrategy: (attempt, _type, error) =>
          retryDelay(limits.retries, attempt, random(), (error as Failed | undefined)?.retryAfterMs),
      },
    })
  }

  /** Ends deliveries on this node; one that is under way is sent again, with its id. */
  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    if (worker === undefined) return
    worker.cancelAllJobs('the node no longer delivers')
    await worker.close()
  }

  /**
   * Adds messages that are not added yet, up to the backlog of their endpoint, in one round trip. The rest is dropped and counted.
   */
  async add(messages: readonly NewDelivery[]): Promise<void> {
    const { endpoints, limits, onTrouble, queues } = this.#options
    const jobs: NewJob[] = []
    const dropped = new Map<string, number>()
    for (const { id, ...data } of messages) {
      const waiting = this.#waiting.get(data.endpoint) ?? 0
      // Only the node that delivers knows what waits.
      if (this.#worker !== undefined && waiting >= limits.backlog) {
        dropped.set(data.endpoint, (dropped.get(data.endpoint) ?? 0) + 1)
        continue
      }
      this.#waiting.set(data.endpoint, waiting + 1)
      jobs.push({ name: data.event, data: { ...data, tries: [] } satisfies DeliveryData, options: this.#jobOptions(id) })
    }
    await queues.addBulk(deliveryQueue, jobs)
    for (const [id, count] of dropped) {
      await endpoints.drop(id, count)
      const endpoint = endpoints.find(id)
      const reason = `${count} events were dropped, because ${limits.backlog} deliveries wait for this endpoint`
      if (endpoint !== undefined) onTrouble({ endpoint, verdict: 'dropped', reason })
    }
  }

  /** Deletes the oldest of the deliveries that ended, when more are kept than allowed. Called from time to time on the node that delivers. */
  async trim(): Promise<void> {
    const { limits, queues } = this.#options
    if ([...this.#waiting.values()].some((waiting) => waiting >= limits.backlog)) await this.#count()
    const counts = await queues.counts(deliveryQueue)
    for (const state of ['completed', 'failed'] as const) {
      if (counts[state] > mostKept) await queues.queue(deliveryQueue).clean(0, Math.min(1_000, counts[state] - mostKept), state)
    }
  }

  /** The log of deliveries to endpoints that the caller sees: a bounded number of the newest. */
  async list({ endpoint, limit, state }: DeliveryQuery, scope: Scope): Promise<DeliveryPage> {
    demand(scope, 'read')
    const { endpoints, queues } = this.#options
    await endpoints.load()
    const states = (state === undefined ? (['failed', 'pending', 'delivered'] as const) : [state]).flatMap((one) => lists[one])
    const counts = await queues.counts(deliveryQueue)
    const of = states.reduce((sum, one) => sum + counts[one], 0)
    const found: Delivery[] = []
    let read = 0
    for (const one of states) {
      for (let offset = 0; offset < counts[one] && read < mostRead && found.length < limit; offset += readAtOnce) {
        const jobs = await queues.list(deliveryQueue, one, { offset, limit: readAtOnce })
        read += jobs.length
        for (const job of jobs) {
          const data = (await queues.restoredData(job)) as DeliveryData
          const isMeant = endpoint === undefined || data.endpoint === endpoint
          if (isMeant && this.#sees(scope, data) && found.length < limit) found.push(deliveryOf(job, data, one))
        }
        if (jobs.length < readAtOnce) break
      }
    }
    return { deliveries: found, searched: { jobs: read, of, complete: read >= of } }
  }

  /** A delivery with its body. 404 DELIVERY_NOT_FOUND. */
  async get(id: string, scope: Scope): Promise<Delivery & { readonly body: string }> {
    demand(scope, 'read')
    const { data, job, state } = await this.#find(id, scope)
    return { ...deliveryOf(job, data, state), body: data.body }
  }

  /**
   * Sends a failed delivery again under its id, or a delivered one under a new id, since receivers ignore an id that they know.
   * 409 DELIVERY_PENDING.
   */
  async resend(id: string, scope: Scope): Promise<{ readonly ok: true; readonly id: string; readonly resent: string }> {
    demand(scope, 'admin')
    const { onWebhookChange, queues } = this.#options
    const { data, job, state } = await this.#find(id, scope)
    if (state !== 'failed' && state !== 'completed') throw monitorErrors.DELIVERY_PENDING(id)
    const endpoint = this.#options.endpoints.find(data.endpoint)
    if (endpoint === undefined) throw monitorErrors.WEBHOOK_NOT_FOUND(data.endpoint)
    let resent = id
    if (state === 'failed') await job.retry('failed', { resetAttemptsMade: true })
    else {
      resent = `${id.slice(0, 60)}-${this.#options.clock.now().toString(36)}`
      await queues.add(deliveryQueue, data.event, { ...data, tries: [] } satisfies DeliveryData, this.#jobOptions(resent))
    }
    this.#waiting.set(data.endpoint, (this.#waiting.get(data.endpoint) ?? 0) + 1)
    const change = { action: 'resend' as const, endpoint: endpoint.id, delivery: resent, actor: scope.actor }
    if (onWebhookChange.active) await onWebhookChange.call(change)
    return { ok: true, id, resent }
  }

  #jobOptions(id: string): NonNullable<NewJob['options']> {
    return {
      jobId: id,
      attempts: this.#options.limits.retries.length + 1,
      backoff: { type: 'delivery' },
      removeOnComplete: { age: keptSeconds.delivered },
      removeOnFail: { age: keptSeconds.failed },
      stackTraceLimit: 1,
    }
  }

  async #find(id: string, scope: Scope): Promise<{ readonly job: Job; readonly state: string; readonly data: DeliveryData }> {
    const { endpoints, queues } = this.#options
    await endpoints.load()
    const found = await queues.job(deliveryQueue, id)
    const data = found === undefined ? undefined : ((await queues.restoredData(found.job)) as DeliveryData)
    if (found === undefined || data === undefined || !this.#sees(scope, data)) throw monitorErrors.DELIVERY_NOT_FOUND(id)
    return { ...found, data }
  }

  /** Of an endpoint that no longer exists, only who covers all queues sees deliveries. */
  #sees(scope: Scope, { endpoint, queue }: DeliveryData): boolean {
    return scope.sees(queue) && seesEndpoint(scope, this.#options.endpoints.find(endpoint) ?? { queues: '*' })
  }

  async #deliver(job: Job, token: string | undefined, signal: AbortSignal | undefined): Promise<unknown> {
    const { clock, endpoints, limits, send } = this.#options
    const data = job.data as DeliveryData
    const endpoint = endpoints.find(data.endpoint)
    const refusal = endpoint === undefined ? 'its endpoint was removed' : endpoints.stateOf(endpoint.id).disabled?.reason
    if (endpoint === undefined || refusal !== undefined) return this.#end(data.endpoint, failed(`Not sent: ${refusal}`, true))
    const busy = this.#underWay.get(endpoint.id) ?? 0
    // A receiver that hangs must not keep the others from theirs.
    if (busy >= Math.max(1, Math.floor(limits.concurrency / 4))) return this.#putOff(job, token, endpoint.id)
    this.#underWay.set(endpoint.id, busy + 1)
    this.#crowded.delete(endpoint.id)
    const [at, started] = [clock.now(), clock.monotonic()]
    let outcome: SendOutcome
    try {
      outcome = await send[endpoint.channel]({ ...data, id: job.id ?? '' }, endpoint, signal)
    } finally {
      this.#underWay.set(endpoint.id, (this.#underWay.get(endpoint.id) ?? 1) - 1)
    }
    if (outcome.kind === 'stopped') return putBack(job, token)
    const { error, status } = outcome
    const one = { at: new Date(at).toISOString(), status, ms: Math.round(clock.monotonic() - started), error }
    if (outcome.kind === 'accepted') {
      this.#ended(endpoint.id)
      return one
    }
    await job.updateData({ ...data, tries: withTry(data.tries, one) } satisfies DeliveryData)
    return this.#refused(job, endpoint, outcome)
  }

  async #refused(job: Job, endpoint: Endpoint, { error, kind, retryAfterMs = 0 }: SendOutcome): Promise<never> {
    const { endpoints, onTrouble } = this.#options
    const reason = error ?? 'no response'
    if (kind === 'gone') {
      await endpoints.disable(endpoint.id, reason)
      onTrouble({ endpoint, verdict: 'disabled', reason })
    }
    const isFinal = kind !== 'refused' || job.attemptsMade + 1 >= (job.opts.attempts ?? 1)
    if (!isFinal) throw failed(reason, false, retryAfterMs)
    onTrouble({ endpoint, verdict: 'failed', reason: `A delivery failed for good after ${job.attemptsMade + 1} attempts: ${reason}` })
    return this.#end(endpoint.id, failed(reason, true))
  }

  #end(endpoint: string, error: Error): never {
    this.#ended(endpoint)
    throw error
  }

  #ended(endpoint: string): void {
    this.#waiting.set(endpoint, Math.max(0, (this.#waiting.get(endpoint) ?? 0) - 1))
  }

  /** Later, without using up an attempt: the more of them there are, the later. */
  async #putOff(job: Job, token: string | undefined, endpoint: string): Promise<never> {
    const ahead = (this.#crowded.get(endpoint) ?? 0) + 1
    this.#crowded.set(endpoint, ahead)
    const ms = Math.min(mostCrowdedMs, crowdedMs * Math.ceil(ahead / this.#options.limits.concurrency))
    await job.moveToDelayed(this.#options.clock.now() + ms, token)
    throw named('DelayedError', 'too many deliveries to this endpoint are under way')
  }

  /** How many deliveries wait for each endpoint. */
  async #count(): Promise<void> {
    const { log, queues } = this.#options
    this.#waiting.clear()
    try {
      for (const state of lists.pending) {
        for (let offset = 0; offset < 50_000; offset += readAtOnce) {
          const jobs = await queues.list(deliveryQueue, state, { offset, limit: readAtOnce })
          for (const job of jobs) {
            const { endpoint } = (await queues.restoredData(job)) as DeliveryData
            this.#waiting.set(endpoint, (this.#waiting.get(endpoint) ?? 0) + 1)
          }
          if (jobs.length < readAtOnce) break
        }
      }
    } catch (error) {
      log.warn({ err: error }, `the waiting deliveries could not be counted: ${messageOf(error)}`)
    }
  }
}

interface Failed extends Error {
  readonly retryAfterMs?: number
}

/** BullMQ knows its errors by their names. */
function failed(reason: string, final: boolean, retryAfterMs = 0): Failed {
  return Object.assign(named(final ? 'UnrecoverableError' : 'Error', reason), { retryAfterMs })
}

function named(name: string, message: string): Error {
  const error = new Error(message)
  error.name = name
  return error
}

/** Another node, or the next start, sends it. */
async function putBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token)
  throw named('WaitingError', 'the node no longer delivers')
}
