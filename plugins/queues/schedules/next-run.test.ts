import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import { createNextRun, intervalPattern } from './next-run.js'

const nextRun = createNextRun()
const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
/** Shorter than the shortest period between two transitions: the month in which Morocco suspends its summer time. */
const step = 28 * day
const from = Date.UTC(2020, 0, 1)
const until = Date.UTC(2036, 0, 1)

interface Transition {
  readonly tz: string
  readonly at: number
  readonly before: number
  readonly after: number
}

function offsetsOf(tz: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: tz, timeZoneName: 'longOffset' })
  return (time) => {
    const [, sign, hours, minutes = '0', seconds = '0'] = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(format.format(time)) ?? []
    return sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * hour + Number(minutes) * minute + Number(seconds) * 1000)
  }
}

/** Every transition of a zone, by bisection between two samples. */
function transitionsOf(tz: string): readonly Transition[] {
  const offsetAt = offsetsOf(tz)
  const found: Transition[] = []
  let before = offsetAt(from)
  for (let time = from; time < until; time += step) {
    const after = offsetAt(time + step)
    if (after !== before) {
      let [low, high] = [time / 1000, (time + step) / 1000]
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2)
        if (offsetAt(middle * 1000) === before) low = middle
        else high = middle
      }
      found.push({ tz, at: high * 1000, before, after })
    }
    before = after
  }
  return found
}

const transitions = Intl.supportedValuesOf('timeZone').flatMap(transitionsOf)

/** When a local time is due: by the rule, in two lines. */
function dueAt(local: number, { at, after, before }: Transition): number {
  // In the gap, later by its size; in the overlap, the first time.
  return local - before < at || local < at + after ? local - before : local - after
}

const iso = (time: number | undefined): string => (time === undefined ? 'never' : new Date(time).toISOString())

/** Local times around a transition: before, at, after, in the gap and in the overlap. */
function around({ after, at, before }: Transition): readonly number[] {
  const [start, end] = [at + Math.min(before, after), at + Math.max(before, after)]
  const inside = start + Math.floor((end - start) / 2 / minute) * minute
  return [start - minute, start, inside, end - minute, end, end + minute]
}

type Pattern = (local: Date) => string
const once: Readonly<Record<string, Pattern>> = {
  daily: (local) => `${local.getUTCMinutes()} ${local.getUTCHours()} * * *`,
  weekly: (local) => `${local.getUTCMinutes()} ${local.getUTCHours()} * * ${local.getUTCDay()}`,
  monthly: (local) => `${local.getUTCMinutes()} ${local.getUTCHours()} ${local.getUTCDate()} * *`,
  yearly: (local) => `0 ${local.getUTCMinutes()} ${local.getUTCHours()} ${local.getUTCDate()} ${local.getUTCMonth() + 1} *`,
}

function checkOnce(transition: Transition, patternOf: Pattern, again: boolean): void {
  for (const local of around(transition)) {
    const due = dueAt(local, transition)
    const pattern = patternOf(new Date(local))
    const what = `${pattern} in ${transition.tz}`
    // From well before the transition, and once only.
    for (const after of [due - 1, due - 6 * hour]) assert.equal(iso(nextRun(pattern, transition.tz, after)), iso(due), what)
    if (!again) continue
    const next = nextRun(pattern, transition.tz, due)
    const longest = Math.abs(transition.after - transition.before)
    assert.ok(next === undefined || next >= due + day - longest, `${what}: again at ${iso(next)}`)
  }
}

/** All minutes at which the minute of an hour is due, around a transition, by looking at each one. */
function everyHour(of: number, { after, at, before }: Transition): readonly number[] {
  const found = new Set<number>()
  for (let time = at - 2 * hour; time <= at + 3 * hour; time += minute) {
    const local = time + (time < at ? before : after)
    if (new Date(local).getUTCMinutes() === of) found.add(time)
    // A minute that is skipped.
    if (time >= at && time < at + after - before && new Date(time + before).getUTCMinutes() === of) found.add(time)
  }
  return [...found].sort((a, b) => a - b)
}

function runsOf(pattern: string, { at, tz }: Transition): readonly number[] {
  const found: number[] = []
  for (let time = at - 2 * hour - 1; ; ) {
    const next = nextRun(pattern, tz, time)
    if (next === undefined || next > at + 3 * hour) return found
    found.push(next)
    time = next
  }
}

/** One transition of each kind: the same shift at the same local time. */
const kinds = [...new Map(transitions.map((one) => [`${one.before} ${one.after} ${(one.at + one.before) % day}`, one])).values()]

describe('the next run of a pattern', () => {
  it('is tested in every zone with a transition between 2020 and 2035', () => {
    assert.ok(transitions.length > 3000, `${transitions.length}`)
    const shifts = new Set(transitions.map(({ after, before }) => Math.abs(after - before) / minute))
    for (const size of [30, 60, 120]) assert.ok(shifts.has(size), `no shift of ${size} minutes`)
    const atMidnight = transitions.filter(({ after, at, before }) => after > before && (at + before) % day === 0)
    assert.ok(atMidnight.some(({ tz }) => tz === 'Africa/Cairo'))
  })

  for (const [name, patternOf] of Object.entries(once)) {
    it(`runs ${name} patterns once, a skipped time later by the gap, a doubled one at the first time`, () => {
      for (const transition of kinds) checkOnce(transition, patternOf, name === 'daily' || name === 'weekly')
    })
  }

  it('does so at every transition, and in every zone', () => {
    const [moments, zones] = [new Set<string>(), new Set<string>()]
    for (const transition of transitions) {
      const moment = `${transition.at} ${transition.before} ${transition.after}`
      const zone = `${transition.tz} ${transition.after > transition.before}`
      // Zones with the same transitions are tested at their first gap and their first overlap.
      if (moments.has(moment) && zones.has(zone)) continue
      moments.add(moment)
      zones.add(zone)
      const { after, at, before } = transition
      const inside = at + Math.min(before, after) + Math.floor(Math.abs(after - before) / 2 / minute) * minute
      const pattern = once.monthly?.(new Date(inside)) ?? ''
      const due = dueAt(inside, transition)
      assert.equal(iso(nextRun(pattern, transition.tz, due - 3 * hour)), iso(due), `${pattern} in ${transition.tz}`)
    }
  })

  it('runs hourly patterns in both hours', () => {
    for (const transition of kinds) {
      for (const of of [0, 15, 30, 45]) {
        assert.deepEqual(runsOf(`${of} * * * *`, transition).map(iso), everyHour(of, transition).map(iso), `${of} of ${transition.tz}`)
      }
    }
  })

  it('runs patterns that name all hours as hourly ones, and others once', () => {
    const autumn = Date.parse('2026-10-25T00:30:00Z')
    const runs = (pattern: string) => iso(nextRun(pattern, 'Europe/Berlin', autumn))
    for (const pattern of ['30 * * * *', '0 30 0-23 * * *', '30 */1 * * *', '30 0-11,12-23 * * *']) {
      assert.equal(runs(pattern), '2026-10-25T01:30:00.000Z', pattern)
    }
    for (const pattern of ['30 2 * * *', '0 30 2,3 * * *', '30 1-22 * * *'])
      assert.notEqual(runs(pattern), '2026-10-25T01:30:00.000Z', pattern)
    assert.equal(iso(nextRun('@hourly', 'Europe/Berlin', autumn)), '2026-10-25T01:00:00.000Z')
  })

  it('runs a time of a day that a zone skips a day later, and never stops', () => {
    // Samoa had no 30 December 2011.
    assert.equal(iso(nextRun('0 9 30 12 *', 'Pacific/Apia', Date.parse('2011-12-29T12:00:00Z'))), '2011-12-30T19:00:00.000Z')
    assert.equal(iso(nextRun('0 9 * * *', 'Pacific/Apia', Date.parse('2011-12-30T19:00:00Z'))), '2011-12-31T19:00:00.000Z')
  })

  it('throws for what is no pattern, is never due, or is no zone', () => {
    for (const pattern of ['0 0 31 2 *', 'nonsense', '61 * * * *', '* * * * * * * *'])
      assert.throws(() => nextRun(pattern, 'Europe/Berlin', from), pattern)
    assert.throws(() => nextRun('0 0 * * *', 'Mars/Olympus', from))
  })

  it('always lies ahead, and nothing is due before it', () => {
    const patterns = fc.constantFrom('* * * * *', '*/7 * * * *', '30 * * * *', '30 2 * * *', '15 0 * * *', '0 9 * * 1-5', '0 0 1 * *')
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'Africa/Cairo', 'Australia/Lord_Howe', 'America/New_York', 'Africa/Casablanca')
    const times = fc.integer({ min: from, max: until })
    fc.assert(
      fc.property(patterns, zones, times, fc.integer({ min: 1, max: day }), (pattern, tz, time, back) => {
        const next = nextRun(pattern, tz, time) ?? 0
        assert.ok(next > time)
        const earlier = nextRun(pattern, tz, time - back) ?? 0
        assert.ok(earlier === next || earlier <= time, `${iso(earlier)} from ${iso(time - back)}, ${iso(next)} from ${iso(time)}`)
      }),
      { numRuns: 1000 },
    )
  })

  it('of an interval follows its first run', () => {
    const pattern = intervalPattern(5000, 12_000)
    assert.deepEqual(
      [0, 11_999, 12_000, 16_999, 17_000].map((after) => nextRun(pattern, 'UTC', after)),
      [12_000, 12_000, 17_000, 17_000, 22_000],
    )
  })
})
