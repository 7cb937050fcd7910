import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scheduleReport } from './schedule-facts.js'
import type { ScheduleFaults } from './schedules/contract.js'

const now = Date.parse('2026-03-01T12:00:00Z')
const key = 'mailer~nightly'
const faults = (more: Partial<ScheduleFaults>): ScheduleFaults => ({ overdue: [], failed: [], total: 1, ...more })

describe('facts about schedules', () => {
  it('a queue that cannot be read is said, and hides no other', async () => {
    const { facts, notChecked } = await scheduleReport(
      {
        scheduled: async () => ['good', 'broken', 'zin-own'],
        faults: async (name) => {
          if (name === 'broken') throw new Error('WRONGTYPE')
          return faults({ overdue: [{ key, next: now - 3_600_000 }], failed: [{ key, id: 'run', at: now - 7 }] })
        },
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

  it('what is beyond the limits is said', async () => {
    const many = Array.from({ length: 201 }, (_, i) => ({ key: `k${i}`, next: now - 3_600_000 }))
    for (const [found, calls, listed] of [
      [faults({ total: 5_001 }), 10, 0],
      [faults({ total: 201, overdue: many }), 1, 200],
    ] as const) {
      const asked: number[] = []
      const { facts, notChecked } = await scheduleReport(
        { scheduled: async () => ['many'], faults: async (_, { from }) => (asked.push(from), found) },
        () => now,
      )
      assert.deepEqual([asked.length, facts.length], [calls, listed])
      assert.match(notChecked?.[0]?.reason ?? '', /1 queue has more: many/)
    }
  })
})
