import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StoredSchedule } from './late-schedules.js'
import { isLastRun, isOverdue, overdueMs, scheduleReport } from './schedule-facts.js'

const now = Date.parse('2026-03-01T12:00:00Z')
const hourMs = 3_600_000
const schedule = (more: Partial<StoredSchedule>) => ({ key: 'mailer~nightly', name: 'x', ...more }) as StoredSchedule
const hourly = (_pattern: string, _tz: string, after: number): number => (Math.floor(after / hourMs) + 1) * hourMs

describe('facts about schedules', () => {
  it('a schedule is overdue once its run is late, unless it has ended', () => {
    const cases: readonly (readonly [Partial<StoredSchedule>, boolean])[] = [
      [{ next: now - overdueMs }, true],
      [{ next: now - overdueMs + 1 }, false],
      [{ next: now + hourMs }, false],
      [{}, false],
      [{ next: now - hourMs, limit: 3, iterationCount: 3 }, false],
      [{ next: now - hourMs, limit: 3, iterationCount: 2 }, true],
      [{ next: now - hourMs, endDate: now - 1 }, false],
      [{ next: now - hourMs, endDate: now + 1 }, true],
    ]
    for (const [given, overdue] of cases) assert.equal(isOverdue(schedule(given), now), overdue, JSON.stringify(given))
  })

  it('a failed run is the last one if no other was due before the next one', () => {
    const run = (at: number) => ({ id: `repeat:mailer~nightly:${at}` })
    const cron = { pattern: '0 * * * *' }
    const twoAgo = now - 2 * hourMs
    assert.ok(isLastRun({ ...cron, next: now }, run(now - hourMs), hourly))
    assert.ok(!isLastRun({ ...cron, next: now }, run(twoAgo), hourly))
    assert.ok(isLastRun({ every: hourMs, next: now }, run(now - hourMs), hourly))
    assert.ok(!isLastRun({ every: hourMs, next: now }, run(twoAgo), hourly))
    assert.ok(isLastRun({ ...cron }, run(twoAgo), hourly))
    assert.ok(!isLastRun({ ...cron, next: now }, { id: 'another' }, hourly))
  })

  it('a queue that cannot be read is said, and hides no other', async () => {
    const late = schedule({ next: now - hourMs, every: hourMs })
    const { facts, notChecked } = await scheduleReport(
      {
        scheduled: async () => ['good', 'broken', 'zin-own'],
        queue: (name) => ({
          getJobSchedulers: async () => {
            if (name === 'broken') throw new Error('WRONGTYPE')
            return [late]
          },
          getJobScheduler: async () => late,
        }),
        list: async () => [{ id: `repeat:${late.key}:${now - 2 * hourMs}`, repeatJobKey: late.key, finishedOn: now - 7 }],
        nextRun: hourly,
        change: (work) => work(),
      },
      () => now,
    )
    assert.deepEqual(
      facts.map(({ kind, subject }) => [kind, subject]),
      [
        ['schedule-overdue', 'schedule:good:mailer~nightly'],
        ['schedule-failed', 'schedule:good:mailer~nightly'],
      ],
    )
    assert.deepEqual(
      notChecked?.map(({ kind }) => kind),
      ['schedule-overdue', 'schedule-failed'],
    )
    assert.match(notChecked?.[0]?.reason ?? '', /1 queue could not be read: broken: WRONGTYPE/)
  })
})
