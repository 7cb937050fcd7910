import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isTimeZone, isWithin, parseWindow, reduced } from './off-peak.js'
import { limitsAt, type PolicyInput } from './policy.js'

const night = { from: 22 * 60, to: 6 * 60 }

describe('the off-peak window', () => {
  for (const [text, window] of [
    ['22:00-06:00', night],
    ['00:00-23:59', { from: 0, to: 1439 }],
    ['9:00-10:00', undefined],
    ['24:00-06:00', undefined],
    ['22:00', undefined],
    ['22:00-06:00-07:00', undefined],
    ['22:60-06:00', undefined],
    ['', undefined],
  ] as const) {
    it(`${window === undefined ? 'cannot be' : 'is'} written as "${text}"`, () => assert.deepEqual(parseWindow(text), window))
  }

  const cases: readonly (readonly [window: string, at: string, timeZone: string, within: boolean])[] = [
    ['22:00-06:00', '2026-01-15T21:59:59Z', 'UTC', false],
    ['22:00-06:00', '2026-01-15T22:00:00Z', 'UTC', true],
    ['22:00-06:00', '2026-01-15T23:59:59Z', 'UTC', true],
    ['22:00-06:00', '2026-01-16T00:00:00Z', 'UTC', true],
    ['22:00-06:00', '2026-01-16T05:59:59Z', 'UTC', true],
    ['22:00-06:00', '2026-01-16T06:00:00Z', 'UTC', false],
    ['22:00-06:00', '2026-01-16T12:00:00Z', 'UTC', false],
    ['09:00-17:00', '2026-01-16T08:59:00Z', 'UTC', false],
    ['09:00-17:00', '2026-01-16T16:59:00Z', 'UTC', true],
    ['09:00-17:00', '2026-01-16T17:00:00Z', 'UTC', false],
    ['12:00-12:00', '2026-01-16T03:00:00Z', 'UTC', true],
    // The same moment in other zones.
    ['22:00-06:00', '2026-01-15T21:30:00Z', 'Europe/Berlin', true],
    ['22:00-06:00', '2026-01-16T02:30:00Z', 'America/New_York', false],
    ['22:00-06:00', '2026-01-16T03:00:00Z', 'America/New_York', true],
    ['22:00-06:00', '2026-01-15T16:30:00Z', 'Asia/Kolkata', true],
    // New York, 2026-03-08: 02:00 becomes 03:00, so 06:00 is an hour earlier by UTC.
    ['22:00-06:00', '2026-03-08T02:59:00Z', 'America/New_York', false],
    ['22:00-06:00', '2026-03-08T03:00:00Z', 'America/New_York', true],
    ['22:00-06:00', '2026-03-08T09:59:00Z', 'America/New_York', true],
    ['22:00-06:00', '2026-03-08T10:00:00Z', 'America/New_York', false],
    ['22:00-06:00', '2026-03-09T01:59:00Z', 'America/New_York', false],
    ['22:00-06:00', '2026-03-09T02:00:00Z', 'America/New_York', true],
    // A window inside the skipped hour is never entered.
    ['02:00-03:00', '2026-03-08T06:59:00Z', 'America/New_York', false],
    ['02:00-03:00', '2026-03-08T07:00:00Z', 'America/New_York', false],
    // Berlin, 2026-10-25: 03:00 becomes 02:00, so the hour from 02:00 occurs twice.
    ['02:00-03:00', '2026-10-25T00:30:00Z', 'Europe/Berlin', true],
    ['02:00-03:00', '2026-10-25T01:30:00Z', 'Europe/Berlin', true],
    ['02:00-03:00', '2026-10-25T02:00:00Z', 'Europe/Berlin', false],
    ['22:00-06:00', '2026-10-25T04:59:00Z', 'Europe/Berlin', true],
    ['22:00-06:00', '2026-10-25T05:00:00Z', 'Europe/Berlin', false],
  ]
  for (const [window, at, timeZone, within] of cases) {
    it(`${window} ${within ? 'includes' : 'excludes'} ${at} in ${timeZone}`, () => {
      const parsed = parseWindow(window)
      assert.ok(parsed !== undefined)
      assert.equal(isWithin(parsed, Date.parse(at), timeZone), within)
    })
  }

  it('is in a known time zone', () => {
    assert.deepEqual(['UTC', 'Europe/Berlin', 'Mars/Olympus', ''].map(isTimeZone), [true, true, false, false])
  })
})

describe('off-peak capacity', () => {
  for (const [workers, reduction, left] of [
    [10, 0.7, 3],
    [4, 0.7, 1],
    [1, 0.7, 1],
    [10, 0, 10],
    [10, 1, 1],
    [100, 0.1, 90],
  ] as const) {
    it(`is ${left} of ${workers} when it is reduced by ${reduction}`, () => assert.equal(reduced(workers, reduction), left))
  }

  it('reduces both limits, only within the window', () => {
    const limits = { minWorkers: 5, maxWorkers: 10, scaleUpThreshold: 100, scaleDownThreshold: 10 }
    const input: PolicyInput = {
      drainSeconds: 60,
      stabilizationSeconds: 300,
      costOptimization: false,
      spotInstances: false,
      graceSeconds: 30,
      offPeak: { window: night, reduction: 0.7, timeZone: 'UTC' },
    }
    assert.deepEqual(limitsAt(limits, input, Date.parse('2026-01-15T23:00:00Z')), { ...limits, minWorkers: 3, maxWorkers: 3 })
    assert.deepEqual(limitsAt(limits, input, Date.parse('2026-01-15T12:00:00Z')), limits)
    const { offPeak: _, ...allDay } = input
    assert.deepEqual(limitsAt(limits, allDay, Date.parse('2026-01-15T23:00:00Z')), limits)
  })
})
