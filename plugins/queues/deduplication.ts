import type { DeduplicationOptions, JobsOptions } from 'bullmq'
import { queueErrors } from './errors.js'

/**
 * What happens when a job is added while another one has its deduplication id. `until-done`: nothing, until that one has ended. `ttl`: nothing,
 * for `ttl` ms after that one was added, even if it has ended. `keep-latest`: the waiting job gets the new data; if it is running, it is run
 * once more with the last data. `debounce`: like `keep-latest`, and the job runs when nothing was added for `ttl` ms.
 */
export type DeduplicationMode = 'until-done' | 'ttl' | 'keep-latest' | 'debounce'

export const deduplicationModes = ['until-done', 'ttl', 'keep-latest', 'debounce'] as const satisfies readonly DeduplicationMode[]

/** Keeps jobs from being added twice. */
export interface JobDeduplication {
  /** 1 to 128 characters. */
  readonly id: string
  /** Default: `ttl` with a `ttl`, otherwise `until-done`. */
  readonly mode?: DeduplicationMode
  /** In ms, at most one year: for `ttl` how long the id counts, for `debounce` the quiet time. Not for the other modes. */
  readonly ttl?: number
}

const mostTtlMs = 365 * 86_400_000
const timed: ReadonlySet<DeduplicationMode> = new Set(['ttl', 'debounce'])

export const deduplicationRule =
  '{id: text of 1 to 128 characters without NUL or lone surrogates, mode?: "until-done", "ttl", "keep-latest" or "debounce", ttl?: ms from 1 to one year, which "ttl" and "debounce" need and the others refuse}; "debounce" takes no delay'

export function deduplicationModeOf({ mode, ttl }: JobDeduplication): DeduplicationMode {
  return mode === undefined ? (ttl === undefined ? 'until-done' : 'ttl') : mode
}

/** Why the mode and the times of a deduplication do not fit, to follow "its deduplication"; undefined if they do. Pure. */
export function deduplicationFault(given: JobDeduplication, delay = 0): string | undefined {
  const mode = deduplicationModeOf(given)
  if (!deduplicationModes.includes(mode)) return `has the mode "${String(mode).slice(0, 30)}" instead of ${deduplicationModes.join(', ')}`
  const { ttl } = given
  if (timed.has(mode) === (ttl === undefined)) return timed.has(mode) ? `needs a ttl for "${mode}"` : `takes no ttl with "${mode}"`
  if (ttl !== undefined && !(Number.isInteger(ttl) && ttl >= 1 && ttl <= mostTtlMs))
    return `has the ttl ${ttl} instead of 1 to ${mostTtlMs} ms`
  if (mode === 'debounce' && delay !== 0) return 'takes no delay with "debounce": its ttl is the delay'
  return undefined
}

/** The modes that a schedule takes. Its runs have the data of its template, which no other run replaces. */
export const scheduleDeduplicationModes = ['until-done', 'ttl'] as const satisfies readonly DeduplicationMode[]

/** Why a deduplication cannot be that of the runs of a schedule, to follow "its deduplication"; undefined if it can. Pure. */
export function scheduleDeduplicationFault(given: object): string | undefined {
  const modes = scheduleDeduplicationModes.join(' and ')
  const mode = 'mode' in given ? given.mode : undefined
  if (mode !== undefined && !scheduleDeduplicationModes.some((one) => one === mode))
    return `has the mode "${String(mode).slice(0, 30)}", and a schedule takes ${modes}. With overlap "queue", a run waits for the one before`
  const unknown = Object.keys(given).find((key) => !['id', 'mode', 'ttl'].includes(key))
  return unknown === undefined
    ? undefined
    : `has the field "${unknown.slice(0, 30)}", and a schedule takes an id, a ttl and the mode ${modes}`
}

/** Whether adding a job replaces the data of a waiting one with the same deduplication id. */
export function replacesData(given: object | undefined): given is JobDeduplication {
  return given !== undefined && 'mode' in given && (given.mode === 'keep-latest' || given.mode === 'debounce')
}

/** Options with the deduplication as BullMQ reads it. BullMQ keeps the mode with the job. */
export function withDeduplication<O extends Pick<JobsOptions, 'deduplication' | 'delay'>>(options: O): O {
  const { deduplication } = options
  if (deduplication === undefined || !('mode' in deduplication)) return options
  const { id, ttl } = deduplication as JobDeduplication
  const mode = deduplicationModeOf(deduplication as JobDeduplication)
  const stored: DeduplicationOptions & { readonly mode: DeduplicationMode } = {
    id,
    mode,
    ...(mode === 'ttl' && ttl !== undefined && { ttl }),
    ...((mode === 'keep-latest' || mode === 'debounce') && { keepLastIfActive: true }),
    ...(mode === 'debounce' && { reschedule: true }),
  }
  return { ...options, deduplication: stored, ...(mode === 'debounce' && ttl !== undefined && { delay: ttl }) }
}

/** A job cannot take the data of another subject: its erasure would not find them. */
export function subjectConflict(queue: string): Error {
  return queueErrors.QUEUE_INVALID_JOB(queue, 'its deduplication id belongs to a waiting job about another subject. Use an id per subject')
}
