import type { JobSchedulerJson, RepeatOptions } from 'bullmq'
import { intervalOf, intervalPattern } from './next-run.js'

export const overlaps = ['allow', 'skip', 'queue'] as const
/** What happens to a run that is due while the previous one still waits or runs. */
export type Overlap = (typeof overlaps)[number]

export const catchUps = ['none', 'one', 'all'] as const
/** How many of the runs are made up that were missed while nothing was running. */
export type CatchUp = (typeof catchUps)[number]

/** How long missed runs are made up, in ms: those that were due earlier are not. */
export const catchUpMs = 86_400_000

export interface SchedulePolicy {
  /** `allow` (default): it runs. `skip`: it does not run, and the log says so. `queue`: it waits until the previous one has ended. */
  readonly overlap?: Overlap
  /** Of those of the last 24 h: `none`, `one` (default) or `all`. */
  readonly catchUp?: CatchUp
}

/** When the jobs of a schedule are added: BullMQ's options, and what happens to those that overlap or were missed. */
export type ScheduleTiming = Omit<RepeatOptions, 'key' | 'prevMillis' | 'jobId'> & SchedulePolicy

/** The policy of a schedule as its jobs carry it. */
export interface StoredPolicy extends Required<SchedulePolicy> {
  /** The id of the run before. */
  readonly follows?: string
}

/** The key of the policy in the options of a job, and of a schedule's template. */
export const policyKey = 'schedule'

export function policyOf(options: object | undefined): StoredPolicy {
  const { catchUp, follows, overlap } = ((options as Record<string, unknown> | undefined)?.[policyKey] ?? {}) as Partial<StoredPolicy>
  return {
    overlap: overlaps.find((one) => one === overlap) ?? 'allow',
    catchUp: catchUps.find((one) => one === catchUp) ?? 'one',
    ...(typeof follows === 'string' && { follows }),
  }
}

/** The timing that a job of a schedule carries; BullMQ's types omit it. */
export function timingOfJob(options: object | undefined): RepeatOptions | undefined {
  return (options as { readonly repeat?: RepeatOptions } | undefined)?.repeat
}

/** A stored schedule in the terms in which it was given. */
export type Schedule = JobSchedulerJson & Required<SchedulePolicy>

export function readSchedule(stored: JobSchedulerJson): Schedule {
  const { pattern, template, tz, ...rest } = stored
  const { catchUp, overlap } = policyOf(template?.opts)
  const interval = pattern === undefined ? undefined : intervalOf(pattern)
  const { [policyKey]: _, ...opts } = (template?.opts ?? {}) as Record<string, unknown>
  return {
    ...rest,
    overlap,
    catchUp,
    ...(interval !== undefined && { every: interval.every }),
    ...(interval === undefined && pattern !== undefined && { pattern, ...(tz !== undefined && { tz }) }),
    ...(template !== undefined && { template: { ...template, ...(template.opts && { opts }) } }),
  }
}

/** A timing with all its times in ms since 1970. */
export interface WantedTiming extends Required<SchedulePolicy> {
  readonly pattern?: string
  readonly every?: number
  readonly tz?: string
  readonly startDate?: number
  readonly endDate?: number
  readonly limit?: number
}

export function wantedTiming({
  catchUp = 'one',
  endDate,
  every,
  limit,
  overlap = 'allow',
  pattern,
  startDate,
  tz,
}: ScheduleTiming): WantedTiming {
  return {
    overlap,
    catchUp,
    ...(pattern !== undefined && { pattern: pattern.trim(), ...(tz !== undefined && { tz }) }),
    ...(every !== undefined && { every }),
    ...(startDate !== undefined && { startDate: new Date(startDate).getTime() }),
    ...(endDate !== undefined && { endDate: new Date(endDate).getTime() }),
    ...(limit !== undefined && { limit }),
  }
}

/** The largest limit that every backend stores. */
const mostRuns = 2 ** 31 - 1

/** The fault of a timing; undefined if it has none. Dates and patterns in the past are no fault. */
export function timingFault(timing: ScheduleTiming, nextRun: (pattern: string, tz: string) => unknown): string | undefined {
  const { catchUp, endDate, every, limit, overlap, pattern, startDate, tz } = timing
  if ((pattern === undefined) === (every === undefined)) return 'it needs exactly one of "pattern" and "every"'
  if (every !== undefined && !(Number.isSafeInteger(every) && every >= 1)) return '"every" must be a number of ms from 1'
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= mostRuns))
    return `"limit" must be an integer from 1 to ${mostRuns}`
  if (overlap !== undefined && !overlaps.includes(overlap)) return `"overlap" must be ${oneOf(overlaps)}`
  if (catchUp !== undefined && !catchUps.includes(catchUp)) return `"catchUp" must be ${oneOf(catchUps)}`
  for (const [field, date] of Object.entries({ startDate, endDate })) {
    if (date !== undefined && Number.isNaN(new Date(date).getTime())) return `"${field}" must be a date`
  }
  if (startDate !== undefined && endDate !== undefined && new Date(endDate) < new Date(startDate)) return '"endDate" is before "startDate"'
  if (pattern === undefined) return undefined
  if (typeof pattern !== 'string' || intervalOf(pattern) !== undefined) return '"pattern" must be a cron pattern'
  try {
    if (nextRun(pattern.trim(), tz ?? machineZone()) === undefined) return '"pattern" is never due'
  } catch (error) {
    return `"pattern" or "tz" is invalid: ${error instanceof Error ? error.message : String(error)}`
  }
  return undefined
}

export function oneOf(values: readonly string[]): string {
  return `one of ${values.map((value) => `"${value}"`).join(', ')}`
}

/** The zone of a pattern without one. */
export function machineZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Whether the runs of an interval are planned here: BullMQ plans them from now on only, so it can neither make up nor leave out missed ones. */
export function plansItself({ catchUp, every }: WantedTiming): boolean {
  return every !== undefined && (catchUp !== 'one' || every > catchUpMs)
}

/** A timing as BullMQ stores it. `first`: of an interval that is planned here. */
export function repeatOf(wanted: WantedTiming, first: number): RepeatOptions {
  const { catchUp: _, overlap: __, ...timing } = wanted
  if (!plansItself(wanted)) return timing
  const { every = 0, ...rest } = timing
  return { ...rest, pattern: intervalPattern(every, first) }
}

/** Whether a stored schedule has a timing. */
export function hasTiming(stored: Schedule, wanted: WantedTiming): boolean {
  const keys = ['pattern', 'every', 'tz', 'startDate', 'endDate', 'limit', 'overlap', 'catchUp'] as const
  return keys.every((key) => (stored[key] ?? undefined) === wanted[key])
}

/** JSON with its fields in order, for a comparison. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one !== 'object' || one === null || Array.isArray(one)) return one
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
