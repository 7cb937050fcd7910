import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getNextMillis } from 'bullmq'
import fc from '../../scripts/testing/properties.js'
import { isLate } from './late-schedules.js'

const now = Date.parse('2026-03-10T11:00:05Z')
const at = (time: string): number => Date.parse(time)
const nextRun = (pattern: string, tz: string, after: number) => getNextMillis(after, { pattern, tz })
const hour = 3_600_000

describe('a schedule after the clock went back', () => {
  const cases: readonly (readonly [title: string, schedule: Parameters<typeof isLate>[0], late: boolean])[] = [
    ['each minute, planned in an hour', { pattern: '* * * * *', next: at('2026-03-10T12:01:00Z') }, true],
    ['each minute, planned for the next one', { pattern: '* * * * *', next: at('2026-03-10T11:01:00Z') }, false],
    ['every second, planned in an hour', { every: 1000, next: now + hour }, true],
    ['every second, due', { every: 1000, next: now - 5000 }, false],
    ['every two hours, planned in three', { every: 2 * hour, next: now + 3 * hour }, false],
    ['at noon, planned for tomorrow', { pattern: '0 12 * * *', next: at('2026-03-11T12:00:00Z') }, false],
    ['at noon, planned for next year', { pattern: '0 12 * * *', next: at('2027-03-11T12:00:00Z') }, true],
    ['on workdays, planned for Monday', { pattern: '0 9 * * 1-5', next: at('2026-03-11T09:00:00Z') }, false],
    ['each minute, from a later day on', { pattern: '* * * * *', next: now + 9 * hour, startDate: now + 9 * hour }, false],
    ['without a next run', { pattern: '* * * * *' }, false],
  ]
  for (const [title, schedule, late] of cases)
    it(`${title}, ${late ? 'is planned again' : 'stays'}`, () => assert.equal(isLate(schedule, now, nextRun), late))

  it('stays as planned whenever a right clock planned it', () => {
    const patterns = fc.constantFrom('* * * * *', '*/7 * * * *', '0 * * * *', '30 2 * * *', '0 9 * * 1-5', '0 0 1 * *', '0 0 29 2 *')
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Apia')
    const times = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) })
    fc.assert(
      fc.property(patterns, zones, times, (pattern, tz, time) => {
        assert.equal(isLate({ pattern, tz, next: nextRun(pattern, tz, time) ?? time }, time, nextRun), false)
      }),
    )
    fc.assert(fc.property(fc.integer({ min: 1, max: 1e9 }), times, (every, time) => !isLate({ every, next: time + every }, time, nextRun)))
  })
})
