import type { JobSchedulerJson, RepeatOptions } from 'bullmq'
import { isIntIn, isObject, type Problem, problem, unknownFields } from '../record/problem.js'
import { jobProblems } from './job-plan.js'
import type { ScheduleSpec, ScheduleView } from './types.js'

const code = 'INVALID_SCHEDULE'
const keys: readonly (keyof ScheduleSpec)[] = ['pattern', 'every', 'tz', 'startDate', 'endDate', 'limit', 'data', 'options']
const maxEveryMs = 365 * 86_400_000
/** Neither worker names nor ids have it. Several workers may share a queue, so the id there names its worker. */
const separator = '~'

/** When a pattern is due next, ms since 1970. Throws for what is no pattern. */
export type NextRun = (pattern: string, tz: string, after: number) => number | undefined

export function schedulerId(worker: string, id: string): string {
  return `${worker}${separator}${id}`
}

/** The id within its worker; undefined for what another worker or other code scheduled. */
export function scheduleIdOf(worker: string, scheduler: string): string | undefined {
  const prefix = schedulerId(worker, '')
  return scheduler.startsWith(prefix) ? scheduler.slice(prefix.length) : undefined
}

export function isScheduleId(id: unknown): id is string {
  return typeof id === 'string' && /^[A-Za-z0-9_.-]{1,100}$/.test(id)
}

/** All faults of a schedule that is to be added at `now`, ms since 1970. */
export function scheduleProblems(id: unknown, spec: unknown, now: number, nextRun: NextRun): readonly Problem[] {
  if (!isScheduleId(id)) return [problem('id', code, 'The id of a schedule must be 1 to 100 letters, digits, "_", "." or "-"')]
  if (!isObject(spec)) return [problem('schedule', code, '"schedule" must be an object with "pattern" or "every"')]
  const { pattern, every, tz, startDate, endDate, limit, options } = spec
  const found: Problem[] = []
  const fault = (field: string, rule: string) => found.push(problem(field, code, `"${field}" must be ${rule}`))
  found.push(...unknownFields(spec, keys, code))
  if ((pattern === undefined) === (every === undefined)) {
    found.push(problem('schedule', code, 'A schedule needs either "pattern" or "every", and not both'))
  }
  if (every !== undefined && !isIntIn(every, 1000, maxEveryMs)) fault('every', 'a whole number of ms from 1000 to one year')
  if (tz !== undefined && (pattern === undefined || !isZone(tz))) fault('tz', 'the IANA name of a time zone, and goes with "pattern" only')
  for (const [field, date] of [['startDate', startDate] as const, ['endDate', endDate] as const]) {
    if (date !== undefined && msOf(date) === undefined) fault(field, 'a date with time and zone as ISO 8601')
  }
  const [start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY] = [msOf(startDate), msOf(endDate)]
  if (end <= Math.max(now, start)) fault('endDate', 'later than now and than "startDate"')
  if (limit !== undefined && !isIntIn(limit, 1, 1_000_000_000)) fault('limit', 'a whole number of jobs from 1')
  if (options !== undefined) found.push(...jobProblems(options, 'options', ['delay', 'deduplication']))
  if (pattern !== undefined && found.length === 0) {
    const fails = patternFault(pattern, typeof tz === 'string' ? tz : 'UTC', Math.max(now, start), end, nextRun)
    if (fails !== undefined) found.push(problem('pattern', code, fails))
  }
  return found
}

function patternFault(pattern: unknown, tz: string, after: number, end: number, nextRun: NextRun): string | undefined {
  const rule = '"pattern" must be a cron pattern of five fields, or six with seconds first'
  if (typeof pattern !== 'string' || pattern.length > 200) return rule
  const fields = pattern.trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) return rule
  // A time that is drawn by lot would be drawn anew for each job.
  if (fields.some((field) => /(^|[^A-Za-z])H([^A-Za-z]|$)/i.test(field))) return `${rule}; "H" is not used`
  try {
    const next = nextRun(pattern, tz, after)
    if (next === undefined || next > end) return '"pattern" is never due from now, or "startDate", to "endDate"'
  } catch (error) {
    return `${rule}: ${error instanceof Error ? error.message : String(error)}`
  }
  return undefined
}

/** A checked or stored schedule in BullMQ's words. Without a zone BullMQ would take that of the machine. */
export function repeatOptions({ pattern, every, tz, startDate, endDate, limit }: ScheduleSpec | JobSchedulerJson): RepeatOptions {
  return {
    ...(pattern !== undefined && { pattern: pattern.trim(), tz: tz ?? 'UTC' }),
    ...(every !== undefined && { every }),
    ...(startDate !== undefined && { startDate }),
    ...(endDate !== undefined && { endDate }),
    ...(limit !== undefined && { limit }),
  }
}

/** A schedule as the API shows it. `iso`: its dates as text. */
export function scheduleView(id: string, worker: string, found: JobSchedulerJson, now: number): ScheduleView {
  const { pattern, every, tz, startDate, endDate, limit, iterationCount = 0, next } = found
  // The job that it added last is listed as the next one, also when that one has run and it adds no more.
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

/** Undefined for what is no date with time and zone. */
function msOf(date: unknown): number | undefined {
  if (typeof date !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(date)) return undefined
  const ms = Date.parse(date)
  return Number.isNaN(ms) ? undefined : ms
}
