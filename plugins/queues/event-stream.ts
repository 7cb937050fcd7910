import { setTimeout as wait } from 'node:timers/promises'
import type { QueueEvents } from 'bullmq'
import { queueErrors } from './errors.js'
import { within } from './shutdown.js'

/** An event of a queue, as the store recorded it. */
export interface QueueEvent {
  /** Position in the stream. Pass the id of the last event as `after` to resume after it. */
  readonly id: string
  /** BullMQ's name: `added`, `waiting`, `active`, `progress`, `completed`, `failed`, `delayed`, `stalled`, `removed`, `drained`, … */
  readonly event: string
  /** Absent in events that concern the queue itself. */
  readonly jobId?: string
  /** The other fields of the stored event, as text; `returnvalue` is in stored form. */
  readonly fields: Readonly<Record<string, string>>
}

export interface FollowOptions {
  /** The id of the last event seen; `0` starts at the oldest stored event. Default: only new events. */
  readonly after?: string
  /** Ends the stream. */
  readonly signal?: AbortSignal
}

export interface EventReader {
  readonly queue: string
  /** Created with autorun off; closed with the stream. */
  readonly events: QueueEvents
  /** The id to start after. */
  readonly from: string
  /** Whether an event as old as this one, or older, is still stored. */
  readonly reachesBack: (id: string) => Promise<boolean>
  readonly isUnavailable: (error: unknown) => boolean
  /** Ends the stream. */
  readonly signal: AbortSignal
  readonly onEnd: () => void
}

/** How long one read waits for an event, in ms. */
const blockMs = 5_000
/** Delay before an unavailable store is read again, in ms. */
const retryMs = 1_000
const closeMs = 1_500
/** The id before all events. */
export const beforeAll = '0'

/**
 * Yields the events of a queue in order. The next events are read when the previous ones have been consumed, so the buffer stays small.
 * Throws QUEUE_EVENTS_LOST if the store dropped events before they were read.
 */
export async function* readEvents(reader: EventReader): AsyncGenerator<QueueEvent, void, undefined> {
  const { events, queue, reachesBack, signal } = reader
  // Closing the reader does not interrupt a read that has not started to block yet.
  const ended = abortable(signal)
  try {
    let last = reader.from
    while (!signal.aborted) {
      const read = await Promise.race([readBehind(last, reader), ended.promise])
      // The store drops the oldest events first; individual events are removed together with their jobs.
      if (read.length > 0 && last !== beforeAll && !(await reachesBack(last))) throw queueErrors.QUEUE_EVENTS_LOST(queue, last)
      for (const event of read) {
        last = event.id
        yield event
      }
    }
  } finally {
    ended.forget()
    await within(events.close(), closeMs)
    reader.onEnd()
  }
}

/** Resolves to an empty list when the signal is aborted. */
function abortable(signal: AbortSignal): { readonly promise: Promise<readonly never[]>; readonly forget: () => void } {
  let end = (): void => undefined
  const promise = new Promise<readonly never[]>((resolve) => {
    end = () => resolve([])
    signal.addEventListener('abort', end, { once: true })
  })
  return { promise, forget: () => signal.removeEventListener('abort', end) }
}

async function readBehind(last: string, { events, isUnavailable, signal }: EventReader): Promise<readonly QueueEvent[]> {
  try {
    const [stream] = (await events.getBackend().readEvents(last, blockMs)) ?? []
    return (stream?.[1] ?? []).map(([id, fields]) => eventOf(id, fields))
  } catch (error) {
    if (signal.aborted) return []
    if (!isUnavailable(error)) throw error
    await wait(retryMs, undefined, { signal }).catch(() => undefined)
    return []
  }
}

function eventOf(id: string, list: readonly string[]): QueueEvent {
  const { event = '', jobId, ...fields } = Object.fromEntries(list.flatMap((key, i) => (i % 2 === 0 ? [[key, list[i + 1] ?? '']] : [])))
  return { id, event, ...(jobId === undefined ? {} : { jobId }), fields }
}
