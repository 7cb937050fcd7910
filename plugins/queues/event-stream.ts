import { setTimeout as wait } from 'node:timers/promises'
import type { QueueEvents } from 'bullmq'
import { queueErrors } from './errors.js'
import { within } from './shutdown.js'

/** Something that happened in a queue, as the store noted it. */
export interface QueueEvent {
  /** Its place in the stream: give that of the last event as `after`, and the stream goes on behind it. */
  readonly id: string
  /** BullMQ's name: `added`, `waiting`, `active`, `progress`, `completed`, `failed`, `delayed`, `stalled`, `removed`, `drained`, … */
  readonly event: string
  /** Absent for events of the queue itself. */
  readonly jobId?: string
  /** What else the store notes, as text; `returnvalue` is in the form in which it is stored. */
  readonly fields: Readonly<Record<string, string>>
}

export interface FollowOptions {
  /** The id of the last event that was seen; `0`: from the oldest that is stored. Absent: only what happens from now on. */
  readonly after?: string
  /** Ends the stream. */
  readonly signal?: AbortSignal
}

export interface EventReader {
  readonly queue: string
  /** Does not run by itself; it is closed with the stream. */
  readonly events: QueueEvents
  /** The place to begin behind. */
  readonly from: string
  /** Whether an event is still stored. */
  readonly has: (id: string) => Promise<boolean>
  readonly isUnavailable: (error: unknown) => boolean
  /** Ends the stream. */
  readonly signal: AbortSignal
  readonly onEnd: () => void
}

/** How long one read waits for an event, in ms. */
const blockMs = 5_000
/** Before a store that is away is asked again, in ms. */
const retryMs = 1_000
const closeMs = 1_500
/** The place before all events. */
export const beforeAll = '0'

/**
 * The events of a queue one after another: the next ones are read when these were taken, so that none is lost and few are held. Throws
 * QUEUE_EVENTS_LOST when the store dropped some before they could be read.
 */
export async function* readEvents(reader: EventReader): AsyncGenerator<QueueEvent, void, undefined> {
  const { events, has, queue, signal } = reader
  // A store that is asked to end a read that has not begun to wait yet does not hear it.
  const ended = abortable(signal)
  try {
    let last = reader.from
    while (!signal.aborted) {
      const read = await Promise.race([readBehind(last, reader), ended.promise])
      // What is behind the last one is whole as long as that one is still there.
      if (read.length > 0 && last !== beforeAll && !(await has(last))) throw queueErrors.QUEUE_EVENTS_LOST(queue, last)
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

/** Nothing, once the signal is aborted. */
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
