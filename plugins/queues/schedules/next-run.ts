import { loadBullmq } from '../bullmq.js'

/** When a schedule is due next: the first time after `after`, both in ms since 1970; undefined if never. */
export type NextRun = (pattern: string, tz: string, after: number) => number | undefined

/** A change of the offset of a zone: `at` in ms since 1970, the offsets from UTC in ms. */
interface Shift {
  readonly at: number
  readonly before: number
  readonly after: number
}

type OffsetAt = (time: number) => number

/** The longest shift of a zone that is known, with some room: a zone that crosses the date line skips or repeats a day. */
const longestShiftMs = 26 * 3_600_000
/** How far apart the times are at which offsets are compared: shorter than the shortest period between two shifts. */
const stepMs = 7 * 86_400_000
/** Maximum number of zones and patterns that are remembered. */
const mostKnown = 1_000

/**
 * Returns the only function that computes when schedules are due. A pattern follows the local time of its zone:
 *
 * - a time that the clock skips is due later by the size of the gap;
 * - a time that occurs twice is due the first time only;
 * - a pattern whose hours are all hours of the day is due in both.
 *
 * `@every <ms> <first>` is due at `first` and each `ms` after it. Throws for an invalid pattern or zone.
 */
export function createNextRun(): NextRun {
  const zones = new Map<string, OffsetAt>()
  const hourly = new Map<string, boolean>()
  return (pattern, tz, after) => {
    const interval = intervalOf(pattern)
    if (interval !== undefined) return nextTick(interval, after)
    const inUtc = (time: number): number | undefined => loadBullmq().getNextMillis(time, { pattern, tz: 'UTC' })
    if (tz === 'UTC') return inUtc(after)
    const offsetAt = known(zones, tz, () => offsetsOf(tz))
    return nextLocal(inUtc, { offsetAt, repeats: () => known(hourly, pattern, () => isHourly(pattern)) }, after)
  }
}

/** An interval in the form of a pattern, for schedules whose missed runs BullMQ cannot plan. */
export function intervalPattern(every: number, first: number): string {
  return `@every ${every} ${first}`
}

export interface Interval {
  readonly every: number
  readonly first: number
}

export function intervalOf(pattern: string): Interval | undefined {
  const [, every, first] = /^@every (\d+) (\d+)$/.exec(pattern) ?? []
  return every === undefined ? undefined : { every: Number(every), first: Number(first) }
}

function nextTick({ every, first }: Interval, after: number): number {
  return after < first ? first : first + (Math.floor((after - first) / every) + 1) * every
}

interface Zone {
  readonly offsetAt: OffsetAt
  /** Whether a time that occurs twice is due twice. */
  readonly repeats: () => boolean
}

/** @param inUtc the next time of the pattern as if it were in UTC; local times are numbers of the same kind here. */
function nextLocal(inUtc: (after: number) => number | undefined, { offsetAt, repeats }: Zone, after: number): number | undefined {
  let from = after + 1
  let shift = shiftBetween(offsetAt, from - longestShiftMs, from)
  while (true) {
    const offset = offsetAt(from)
    const found = nextUnder(inUtc, offset, from, shift, repeats)
    if (found === undefined) return undefined
    const next = firstShift(offsetAt, from, found)
    if (next === undefined) return found
    from = next.at
    shift = next
  }
}

/** The first time from `from` on, as if the offset stayed the same. `shift`: the last one, if a gap or an overlap may still last. */
function nextUnder(
  inUtc: (after: number) => number | undefined,
  offset: number,
  from: number,
  shift: Shift | undefined,
  repeats: () => boolean,
): number | undefined {
  let local = from + offset
  if (shift !== undefined && local < shift.at + shift.before && shift.after < shift.before && !repeats()) local = shift.at + shift.before
  const regular = inUtc(local - 1)
  const time = regular === undefined ? undefined : regular - offset
  if (shift === undefined || from + shift.before >= shift.at + shift.after) return time
  const skipped = inUtc(from + shift.before - 1)
  if (skipped === undefined || skipped >= shift.at + shift.after) return time
  return Math.min(time ?? Number.POSITIVE_INFINITY, skipped - shift.before)
}

function firstShift(offsetAt: OffsetAt, from: number, to: number): Shift | undefined {
  for (let start = from; start < to; start += stepMs) {
    const shift = shiftBetween(offsetAt, start, Math.min(start + stepMs, to))
    if (shift !== undefined) return shift
  }
  return undefined
}

/** The shift after `from` until `to`, found by bisection. */
function shiftBetween(offsetAt: OffsetAt, from: number, to: number): Shift | undefined {
  const before = offsetAt(from)
  if (offsetAt(to) === before) return undefined
  let [low, high] = [Math.floor(from / 1000), Math.floor(to / 1000)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle * 1000) === before) low = middle
    else high = middle
  }
  return { at: high * 1000, before, after: offsetAt(high * 1000) }
}

function offsetsOf(tz: string): OffsetAt {
  const part = 'numeric'
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: tz,
    hourCycle: 'h23',
    year: part,
    month: part,
    day: part,
    hour: part,
    minute: part,
    second: part,
  })
  return (time) => {
    const [month = 1, day = 1, year = 1970, hour = 0, minute = 0, second = 0] = (format.format(time).match(/\d+/g) ?? []).map(Number)
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1000) * 1000
  }
}

/** Whether the hours of a pattern are all hours of a day. */
function isHourly(pattern: string): boolean {
  const fields = pattern.trim().split(/\s+/)
  if (fields.length === 1) return /^@(hourly|minutely|secondly)$/i.test(pattern.trim())
  const hours = `0 ${fields.at(-4)} * * *`
  let last = -1
  let count = 0
  while (count < 25) {
    last = loadBullmq().getNextMillis(last, { pattern: hours, tz: 'UTC' }) ?? Number.POSITIVE_INFINITY
    if (last >= 86_400_000) break
    count++
  }
  return count === 24
}

function known<T>(values: Map<string, T>, key: string, make: () => T): T {
  const found = values.get(key)
  if (found !== undefined) return found
  const made = make()
  if (values.size >= mostKnown) values.clear()
  values.set(key, made)
  return made
}
