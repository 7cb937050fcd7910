import { catchUps, overlaps, type Schedule, type ScheduleTiming, scheduleDeduplicationFault } from 'zin/plugins/queues'
import { isIntIn, isObject, type Problem, problem, unknownFields } from '../record/problem.js'
import { jobProblems } from './job-plan.js'
import type { ScheduleSpec, ScheduleView } from './types.js'

const code = 'INVALID_SCHEDULE'
const keys: readonly (keyof ScheduleSpec)[] = [
  'pattern',
  'every',
  'tz',
  'startDate',
  'endDate',
  'limit',
  'overlap',
  'catchUp',
  'data',
  'options',
]
const maxEveryMs = 365 * 86_400_000
/** Not allowed in worker names and ids. Several workers may share a queue, so ids in the queue include the worker. */
const separator = '~'

/** When a pattern is due next, ms since 1970. Throws when the pattern is invalid. */
export type NextRun = (pattern: string, tz: string, after: number) => number | undefined

export function schedulerId(worker: string, id: string): string {
  return `${worker}${separator}${id}`
}

/** The id within its worker; undefined for a schedule of another worker or of other code. */
export function scheduleIdOf(worker: string, scheduler: string): string | undefined {
  const prefix = schedulerId(worker, '')
  return scheduler.startsWith(prefix) ? scheduler.slice(prefix.length) : undefined
}

export function isScheduleId(id: unknown): id is string {
  return typeof id === 'string' && /^[A-Za-z0-9_.-]{1,100}$/.test(id)
}

/** All problems of a schedule that is added at `now`, ms since 1970. */
export function scheduleProblems(id: unknown, spec: unknown, now: number, nextRun: NextRun): readonly Problem[] {
  if (!isScheduleId(id)) return [problem('id', code, 'The id of a schedule must be 1 to 100 letters, digits, "_", "." or "-"')]
  if (!isObject(spec)) return [problem('schedule', code, '"schedule" must be an object with "pattern" or "every"')]
  const { pattern, every, tz, startDate, endDate, limit, overlap, catchUp, options } = spec
  const found: Problem[] = []
  const fault = (field: string, rule: string) => found.push(problem(field, code, `"${field}" must be ${rule}`))
  found.push(...unknownFields(spec, keys, code))
  if ((pattern === undefined) === (every === undefined)) {
    found.push(problem('schedule', code, 'A schedule needs exactly one of "pattern" and "every"'))
  }
  if (every !== undefined && !isIntIn(every, 1000, maxEveryMs)) fault('every', 'an integer from 1000 to 31536000000 (ms, one year)')
  if (tz !== undefined && (pattern === undefined || !isZone(tz))) fault('tz', 'an IANA time zone; it is allowed with "pattern" only')
  for (const [field, date] of [['startDate', startDate] as const, ['endDate', endDate] as const]) {
    if (date !== undefined && msOf(date) === undefined) fault(field, 'an ISO 8601 date with time and time zone')
  }
  const [start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY] = [msOf(startDate), msOf(endDate)]
  if (end < Math.max(now, start)) fault('endDate', 'neither before now nor before "startDate"')
  if (limit !== undefined && !isIntIn(limit, 1, 1_000_000_000)) fault('limit', 'an integer from 1 to 1000000000')
  for (const [field, value, values] of [['overlap', overlap, overlaps] as const, ['catchUp', catchUp, catchUps] as const]) {
    if (value !== undefined && !values.some((one) => one === value)) fault(field, `"${values[0]}", "${values[1]}" or "${values[2]}"`)
  }
  if (options !== undefined) found.push(...optionProblems(options))
  if (pattern !== undefined && found.length === 0) {
    const fails = patternFault(pattern, typeof tz === 'string' ? tz : 'UTC', Math.max(now, start - 1), end, nextRun)
    if (fails !== undefined) found.push(problem('pattern', code, fails))
  }
  return found
}

function optionProblems(options: unknown): readonly Problem[] {
  const found = jobProblems(options, 'options', ['delay', 'jobId', 'onFailure'])
  const deduplication = isObject(options) ? options.deduplication : undefined
  const fault = found.length === 0 && isObject(deduplication) ? scheduleDeduplicationFault(deduplication) : undefined
  if (fault === undefined) return found
  return [problem('options.deduplication', 'SCHEDULE_DEDUPLICATION', `The deduplication of a schedule ${fault}`)]
}

function patternFault(pattern: unknown, tz: string, after: number, end: number, nextRun: NextRun): string | undefined {
  const rule = '"pattern" must be a cron pattern of five fields, or six with seconds first'
  if (typeof pattern !== 'string' || pattern.length > 200) return rule
  const fields = pattern.trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) return rule
  // A random time would be chosen again for each job.
  if (fields.some((field) => /(^|[^A-Za-z])H([^A-Za-z]|$)/i.test(field))) return `${rule}; "H" is not supported`
  try {
    const next = nextRun(pattern, tz, after)
    if (next === undefined || next > end) return '"pattern" is never due between now, or "startDate", and "endDate"'
  } catch (error) {
    return `${rule}: ${error instanceof Error ? error.message : String(error)}`
  }
  return undefined
}

/** Converts a validated or stored schedule to a timing of the queues. Without a time zone, it would be that of the machine. */
export function timingOf({ pattern, every, tz, startDate, endDate, limit, overlap, catchUp }: ScheduleSpec | Schedule): ScheduleTiming {
  return {
    ...(pattern !== undefined && { pattern: pattern.trim(), tz: tz ?? 'UTC' }),
    ...(every !== undefined && { every }),
    ...(startDate !== undefined && { startDate }),
    ...(endDate !== undefined && { endDate }),
    ...(limit !== undefined && { limit }),
    ...(overlap !== undefined && { overlap }),
    ...(catchUp !== undefined && { catchUp }),
  }
}

/** A schedule as the API returns it. */
export function scheduleView(id: string, worker: string, found: Schedule, now: number): ScheduleView {
  const { pattern, every, tz, startDate, endDate, limit, overlap, catchUp, iterationCount = 0, next } = found
  // BullMQ reports the last added job as the next one, even after it has run and no more are added.
  const ended = (limit !== undefined && iterationCount >= limit) || (endDate !== undefined && endDate <= now)
  return {
    id,
    worker,
    name: found.name,
    ...(pattern !== undefined && { pattern, tz: tz ?? 'UTC' }),
    ...(every !== undefined && { every }),
    ...(startDate !== undefined && { startDate: new Date(startDate).toISOString() }),
    ...(endDate !== undefined && { endDate: new Date(endDate).toISOString() }),
    ...(limit !== undefined && { limit }),
    overlap,
    catchUp,
    nextAt: next === undefined || (ended && next <= now) ? null : new Date(next).toISOString(),
  }
}

function isZone(tz: unknown): boolean {
  if (typeof tz !== 'string' || tz === '' || tz.length > 100) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: tz }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** ms since 1970; undefined unless `date` is an ISO 8601 date with time and time zone. */
function msOf(date: unknown): number | undefined {
  if (typeof date !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(date)) return undefined
  const ms = Date.parse(date)
  return Number.isNaN(ms) ? undefined : ms
}
