import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, type Logger, messageOf, withDeadline, ZinError } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { QueueEvent, Queues } from 'zin/plugins/queues'
import type { Deliveries, NewDelivery } from '../deliveries/deliveries.js'
import { type Endpoint, wants } from './endpoint.js'
import type { Endpoints } from './endpoints.js'
import { eventTime, jobBody, jobEvents, messageId } from './job-event.js'

export interface FollowerOptions {
  readonly queue: string
  readonly queues: Queues
  readonly kv: Kv
  readonly endpoints: Endpoints
  readonly deliveries: Deliveries
  readonly clock: Clock
  readonly log: Logger
  /** Called when events were dropped by the store before they were read. */
  readonly onLost: (queue: string, reason: string) => void
}

/** Events converted to deliveries in one step. */
const stepEvents = 50
/** How long a step waits for more events, in ms. */
const gatherMs = 20
/** The position is stored after this many events or ms, even without a delivery. */
const unsavedEvents = 1_000
const unsavedMs = 5_000
const callMs = 5_000
const retryMs = 2_000
const keptMs = 30 * 86_400_000
const cursorKeyOf = (queue: string): string => `monitor:webhooks:cursor:${queue}`

/** Deletes the stored position in the events of a queue. */
export async function forgetCursor(kv: Kv, queue: string): Promise<void> {
  await kv.delete(cursorKeyOf(queue))
}

/**
 * Converts the events of one queue to deliveries. The position in the events is stored after the deliveries, so a crash in between adds the
 * same deliveries with the same ids again, which the store ignores.
 */
export class Follower {
  readonly #options: FollowerOptions
  readonly #stop = new AbortController()
  readonly #ended: Promise<void>

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#ended = this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  async #run(): Promise<void> {
    const { log, onLost, queue } = this.#options
    const { signal } = this.#stop
    let lost = false
    while (!signal.aborted) {
      try {
        await this.#follow(lost)
        lost = false
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ZinError && error.code === 'QUEUE_EVENTS_LOST') {
          lost = true
          onLost(queue, messageOf(error))
          continue
        }
        log.warn({ err: error, queue }, `the events of queue "${queue}" could not be processed: ${messageOf(error)}; retrying`)
        await wait(retryMs, undefined, { signal }).catch(() => undefined)
      }
    }
  }

  /** Follows the events from the stored position; with `lost`, from the oldest stored event. */
  async #follow(lost: boolean): Promise<void> {
    const { kv, queue, queues } = this.#options
    const { signal } = this.#stop
    const after = lost ? '0' : ((await kv.get(cursorKeyOf(queue))) ?? '0')
    const events = await queues.follow(queue, { after, signal })
    const step: QueueEvent[] = []
    let unsaved = 0
    let savedAt = this.#options.clock.monotonic()
    let last = after
    const save = async (): Promise<void> => {
      await this.#add(step.splice(0))
      await kv.set(cursorKeyOf(queue), last, { ttlMs: keptMs })
      unsaved = 0
      savedAt = this.#options.clock.monotonic()
    }
    try {
      while (true) {
        const next = events.next()
        // Prevents an unhandled rejection; a failure is thrown where the event is awaited.
        next.catch(() => undefined)
        if (unsaved > 0 && !(await soon(next))) {
          const isDue = step.length > 0 || unsaved >= unsavedEvents || this.#options.clock.monotonic() - savedAt >= unsavedMs
          if (isDue) await save()
        }
        const { done, value } = await next
        if (done === true) return
        last = value.id
        unsaved++
        if (jobEvents[value.event] !== undefined && value.jobId !== undefined) step.push(value)
        if (step.length >= stepEvents || unsaved >= unsavedEvents) await save()
      }
    } finally {
      await events.return?.()
    }
  }

  /** Reads the jobs of events that have a subscribed endpoint, and adds the deliveries. */
  async #add(events: readonly QueueEvent[]): Promise<void> {
    const { clock, deliveries, endpoints, queue, queues } = this.#options
    const wanted = events.flatMap((event) => {
      const name = jobEvents[event.event]
      const at = eventTime(event)
      const receivers = name === undefined ? [] : endpoints.all.filter((one) => wants(one, name, queue) && this.#receives(one, at))
      return name === undefined || receivers.length === 0 ? [] : [{ event, name, receivers, jobId: event.jobId ?? '' }]
    })
    if (wanted.length === 0) return
    const ids = [...new Set(wanted.map(({ jobId }) => jobId))]
    const found = await withDeadline(
      Promise.all(ids.map((id) => queues.queue(queue).getJob(id))),
      callMs,
      `no response within ${callMs} ms`,
    )
    const jobs = new Map(ids.map((id, i) => [id, found[i]]))
    const messages = wanted.flatMap(({ event, jobId, name, receivers }): readonly NewDelivery[] => {
      const job = jobs.get(jobId)
      const body = jobBody(name, queue, jobId, job, eventTime(event) ?? clock.now())
      return receivers
        .filter((one) => this.#receives(one, eventTime(event) ?? job?.finishedOn))
        .map(({ channel, id }) => ({ id: messageId(id, queue, event.id), endpoint: id, channel, event: name, queue, body }))
    })
    await deliveries.add(messages)
  }

  /** Whether an endpoint is enabled and was added or enabled before the event. */
  #receives({ id }: Endpoint, at: number | undefined): boolean {
    const { disabled, since } = this.#options.endpoints.stateOf(id)
    return disabled === undefined && (at === undefined || at >= since)
  }
}

/** Whether the promise settles within `gatherMs`. */
async function soon(work: Promise<unknown>): Promise<boolean> {
  const stop = new AbortController()
  const late = wait(gatherMs, false, { signal: stop.signal }).catch(() => false)
  const inTime = await Promise.race([
    work.then(
      () => true,
      () => true,
    ),
    late,
  ])
  stop.abort()
  return inTime
}
