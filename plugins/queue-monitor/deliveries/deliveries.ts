import type { Job, Worker } from 'bullmq'
import { type Clock, type Logger, messageOf, systemClock } from 'zin'
import type { NewJob, Queues } from 'zin/plugins/queues'
import type { Endpoint } from '../webhooks/endpoint.js'
import type { Endpoints } from '../webhooks/endpoints.js'
import { type Channel, type DeliveryData, type DeliveryTry, withTry } from './delivery.js'
import { type DeliveryLimits, deliveryLists, deliveryQueue, jobOptions } from './delivery-queue.js'
import type { OutcomeLog } from './outcomes.js'
import { retryDelay } from './retry.js'
import type { Send, SendOutcome } from './send.js'

export interface DeliveriesOptions {
  readonly queues: Queues
  readonly endpoints: Endpoints
  readonly outcomes: OutcomeLog
  readonly send: Readonly<Record<Channel, Send>>
  readonly limits: DeliveryLimits
  readonly clock: Clock
  readonly log: Logger
  /** Called when a delivery failed permanently, events were dropped, or an endpoint was disabled. */
  readonly onTrouble: (trouble: DeliveryTrouble) => void
  /** Test only. */
  readonly random?: () => number
}

export interface DeliveryTrouble {
  readonly endpoint: Endpoint
  readonly verdict: 'failed' | 'dropped' | 'disabled'
  readonly reason: string
}

/** A message to deliver. Messages with the same id are delivered once. */
export interface NewDelivery extends Omit<DeliveryData, 'tries'> {
  readonly id: string
}

/** Finished deliveries kept per outcome. */
const mostKept = 5_000
/** Deliveries read at a time while counting. */
const countedAtOnce = 100
/** Minimum and maximum delay of a delivery when too many to the same endpoint are in flight, in ms. */
const crowdedMs = 1_000
const mostCrowdedMs = 60_000

/** The delivery queue, and its consumer on the leader. */
export class Deliveries {
  readonly #options: DeliveriesOptions
  /** Unfinished deliveries by endpoint; only on the node that delivers. */
  readonly #waiting = new Map<string, number>()
  readonly #inFlight = new Map<string, number>()
  readonly #crowded = new Map<string, number>()
  #worker: Worker | undefined

  constructor(options: DeliveriesOptions) {
    this.#options = options
  }

  /** Starts delivering on this node. */
  async open(): Promise<void> {
    if (this.#worker !== undefined) return
    const { limits, outcomes, queues, random = Math.random } = this.#options
    await outcomes.load()
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

  /** Stops delivering on this node. Deliveries in flight are put back and sent again with the same id. */
  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    if (worker === undefined) return
    worker.cancelAllJobs('the node no longer delivers')
    await worker.close()
    await this.#flush()
  }

  /**
   * Adds new messages, up to the backlog of their endpoint, in one round trip. Messages beyond the backlog are dropped and counted.
   */
  async add(messages: readonly NewDelivery[]): Promise<void> {
    const { endpoints, limits, onTrouble, queues } = this.#options
    const jobs: NewJob[] = []
    const dropped = new Map<string, number>()
    for (const { id, ...data } of messages) {
      const waiting = this.#waiting.get(data.endpoint) ?? 0
      // Only the node that delivers has the counts.
      if (this.#worker !== undefined && waiting >= limits.backlog) {
        dropped.set(data.endpoint, (dropped.get(data.endpoint) ?? 0) + 1)
        continue
      }
      this.#waiting.set(data.endpoint, waiting + 1)
      jobs.push({ name: data.event, data: { ...data, tries: [] } satisfies DeliveryData, options: jobOptions(id, limits) })
    }
    await queues.addBulk(deliveryQueue, jobs)
    for (const [id, count] of dropped) {
      await endpoints.drop(id, count)
      const endpoint = endpoints.find(id)
      const reason = `${count} events were dropped because ${limits.backlog} deliveries are waiting for this endpoint`
      if (endpoint !== undefined) onTrouble({ endpoint, verdict: 'dropped', reason })
    }
  }

  /** Counts a delivery that is being resent. */
  resent(endpoint: string): void {
    this.#waiting.set(endpoint, (this.#waiting.get(endpoint) ?? 0) + 1)
  }

  #flush(): Promise<void> {
    const { endpoints, outcomes } = this.#options
    return outcomes.flush(new Set(endpoints.all.map(({ id }) => id)))
  }

  /** Deletes the oldest finished deliveries beyond the limit. Called periodically on the node that delivers. */
  async trim(): Promise<void> {
    const { limits, queues } = this.#options
    await this.#flush()
    if ([...this.#waiting.values()].some((waiting) => waiting >= limits.backlog)) await this.#count()
    const counts = await queues.counts(deliveryQueue)
    for (const state of ['completed', 'failed'] as const) {
      if (counts[state] > mostKept) await queues.queue(deliveryQueue).clean(0, Math.min(1_000, counts[state] - mostKept), state)
    }
  }

  async #deliver(job: Job, token: string | undefined, signal: AbortSignal | undefined): Promise<unknown> {
    const { clock, endpoints, limits, outcomes, send } = this.#options
    const data = job.data as DeliveryData
    const endpoint = endpoints.find(data.endpoint)
    const refusal = endpoint === undefined ? 'the endpoint was removed' : endpoints.stateOf(endpoint.id).disabled?.reason
    if (endpoint === undefined || refusal !== undefined) return this.#end(data.endpoint, failed(`Not sent: ${refusal}`, true))
    const busy = this.#inFlight.get(endpoint.id) ?? 0
    // A hanging receiver must not block deliveries to other endpoints.
    if (busy >= Math.max(1, Math.floor(limits.concurrency / 4))) return this.#putOff(job, token, endpoint.id)
    this.#inFlight.set(endpoint.id, busy + 1)
    this.#crowded.delete(endpoint.id)
    const [at, started] = [clock.now(), clock.monotonic()]
    let outcome: SendOutcome
    try {
      outcome = await send[endpoint.channel]({ ...data, id: job.id ?? '' }, endpoint, signal)
    } finally {
      this.#inFlight.set(endpoint.id, (this.#inFlight.get(endpoint.id) ?? 1) - 1)
    }
    if (outcome.kind === 'stopped') return putBack(job, token)
    const { error, status } = outcome
    const one = { at: new Date(at).toISOString(), status, ms: Math.round(clock.monotonic() - started), error }
    if (outcome.kind === 'accepted') {
      outcomes.accepted(endpoint.id, clock.now())
      this.#ended(endpoint.id)
      return one
    }
    await job.updateData({ ...data, tries: withTry(data.tries, one) } satisfies DeliveryData)
    return this.#refused(job, endpoint, outcome, data.tries)
  }

  /** @param tries those before this one. */
  async #refused(
    job: Job,
    endpoint: Endpoint,
    { error, kind, retryAfterMs = 0 }: SendOutcome,
    tries: readonly DeliveryTry[],
  ): Promise<never> {
    const { clock, endpoints, onTrouble, outcomes } = this.#options
    const reason = error ?? 'no response'
    const isFinal = kind !== 'refused' || job.attemptsMade + 1 >= (job.opts.attempts ?? 1)
    const last = tries.at(-1)
    outcomes.refused(endpoint.id, {
      at: clock.now(),
      enabledAt: endpoints.stateOf(endpoint.id).since,
      createdAt: job.timestamp,
      error: reason,
      isFinal,
      ...(last === undefined ? {} : { before: { at: Date.parse(last.at) + last.ms, wasFinal: job.attemptsMade === 0 } }),
    })
    if (kind === 'gone') {
      await endpoints.disable(endpoint.id, reason)
      onTrouble({ endpoint, verdict: 'disabled', reason })
    }
    if (!isFinal) throw failed(reason, false, retryAfterMs)
    onTrouble({ endpoint, verdict: 'failed', reason: `A delivery failed permanently after ${job.attemptsMade + 1} attempts: ${reason}` })
    return this.#end(endpoint.id, failed(reason, true))
  }

  #end(endpoint: string, error: Error): never {
    this.#ended(endpoint)
    throw error
  }

  #ended(endpoint: string): void {
    this.#waiting.set(endpoint, Math.max(0, (this.#waiting.get(endpoint) ?? 0) - 1))
  }

  /** Delays a delivery without consuming an attempt. The delay grows with the number of delayed deliveries. */
  async #putOff(job: Job, token: string | undefined, endpoint: string): Promise<never> {
    const ahead = (this.#crowded.get(endpoint) ?? 0) + 1
    this.#crowded.set(endpoint, ahead)
    const ms = Math.min(mostCrowdedMs, crowdedMs * Math.ceil(ahead / this.#options.limits.concurrency))
    // BullMQ compares it with the time of this machine.
    await job.moveToDelayed(systemClock.now() + ms, token)
    throw named('DelayedError', 'too many deliveries to this endpoint are in flight')
  }

  /** Recounts the unfinished deliveries of each endpoint. */
  async #count(): Promise<void> {
    const { log, queues } = this.#options
    this.#waiting.clear()
    try {
      for (const state of deliveryLists.pending) {
        for (let offset = 0; offset < 50_000; offset += countedAtOnce) {
          const jobs = await queues.list(deliveryQueue, state, { offset, limit: countedAtOnce })
          for (const job of jobs) {
            const { endpoint } = (await queues.restoredData(job)) as DeliveryData
            this.#waiting.set(endpoint, (this.#waiting.get(endpoint) ?? 0) + 1)
          }
          if (jobs.length < countedAtOnce) break
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

/** BullMQ recognizes its errors by name. */
function failed(reason: string, final: boolean, retryAfterMs = 0): Failed {
  return Object.assign(named(final ? 'UnrecoverableError' : 'Error', reason), { retryAfterMs })
}

function named(name: string, message: string): Error {
  const error = new Error(message)
  error.name = name
  return error
}

/** Puts a delivery back, to be sent by another node or after the next start. */
async function putBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token)
  throw named('WaitingError', 'the node no longer delivers')
}
