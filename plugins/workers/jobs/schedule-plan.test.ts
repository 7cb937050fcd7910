import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scheduleIdOf, scheduleProblems, schedulerId, scheduleView, timingOf } from './schedule-plan.js'

const now = Date.UTC(2026, 0, 1)
const nextRun = (pattern: string, _tz: string, after: number): number | undefined => {
  if (pattern.startsWith('x')) throw new Error('not a pattern')
  return pattern.endsWith('never') ? undefined : after + 60_000
}
const problems = (spec: unknown, id: unknown = 'ok') => scheduleProblems(id, spec, now, nextRun)

describe('a schedule', () => {
  it('is accepted by pattern or by interval', () => {
    for (const spec of [
      { pattern: '0 0 * * *' },
      { pattern: '  0 0 0 * * MON-THU ' },
      { pattern: '0 0 * * *', tz: 'Europe/Berlin', startDate: '2026-02-01T00:00:00Z', endDate: '2026-03-01T00:00:00+01:00', limit: 1 },
      { every: 1000, data: null, options: { priority: 'High', timeout: 5, deduplication: { id: 'x' } } },
      { every: 1000, options: { deduplication: { id: 'x', mode: 'until-done' } } },
      { every: 1000, options: { deduplication: { id: 'x', mode: 'ttl', ttl: 5 } } },
      { every: 1000, overlap: 'queue', catchUp: 'all' },
      { every: 1000, startDate: '2026-02-01T00:00:00Z', endDate: '2026-02-01T00:00:00Z' },
    ]) {
      assert.deepEqual(problems(spec), [], JSON.stringify(spec))
    }
  })

  it('is rejected with the invalid field', () => {
    const rows: readonly (readonly [spec: unknown, field: string])[] = [
      [null, 'schedule'],
      [{}, 'schedule'],
      [{ pattern: '0 0 * * *', every: 1000 }, 'schedule'],
      [{ every: 1000, immediately: true }, 'immediately'],
      [{ every: 999 }, 'every'],
      [{ every: 1000.5 }, 'every'],
      [{ every: 1000, tz: 'UTC' }, 'tz'],
      [{ pattern: '0 0 * * *', tz: 'Mars/Olympus' }, 'tz'],
      [{ pattern: '0 0 * * *', tz: 5 }, 'tz'],
      [{ pattern: '* * * *' }, 'pattern'],
      [{ pattern: '* * * * * * *' }, 'pattern'],
      [{ pattern: '@daily' }, 'pattern'],
      [{ pattern: 'H * * * *' }, 'pattern'],
      [{ pattern: '0 H(0-7) * * *' }, 'pattern'],
      [{ pattern: 'x * * * *' }, 'pattern'],
      [{ pattern: '0 0 * * never' }, 'pattern'],
      [{ pattern: 7 }, 'pattern'],
      [{ pattern: '0 0 * * *', endDate: '2026-01-01T00:00:30Z' }, 'pattern'],
      [{ every: 1000, startDate: '2026-01-01' }, 'startDate'],
      [{ every: 1000, startDate: '2026-13-01T00:00:00Z' }, 'startDate'],
      [{ every: 1000, endDate: '2025-12-31T00:00:00Z' }, 'endDate'],
      [{ every: 1000, startDate: '2026-03-01T00:00:00Z', endDate: '2026-02-01T00:00:00Z' }, 'endDate'],
      [{ every: 1000, limit: 0 }, 'limit'],
      [{ every: 1000, options: { delay: 5 } }, 'options.delay'],
      [{ every: 1000, options: { deduplication: { id: 'x', mode: 'keep-latest' } } }, 'options.deduplication'],
      [{ every: 1000, options: { deduplication: { id: 'x', mode: 'debounce', ttl: 5 } } }, 'options.deduplication'],
      [{ every: 1000, overlap: 'wait' }, 'overlap'],
      [{ every: 1000, overlap: null }, 'overlap'],
      [{ every: 1000, catchUp: 'both' }, 'catchUp'],
      [{ every: 1000, catchUp: true }, 'catchUp'],
    ]
    for (const [spec, field] of rows) {
      assert.deepEqual(
        problems(spec).map((one) => one.field),
        [field],
        JSON.stringify(spec),
      )
    }
    for (const id of ['', 'a/b', 'a~b', 'x'.repeat(101), 5, undefined])
      assert.equal(scheduleProblems(id, { every: 1000 }, now, nextRun)[0]?.field, 'id')
  })

  it('belongs to the worker that its id in the queue names', () => {
    assert.equal(scheduleIdOf('mail', schedulerId('mail', 'a.b-c_1')), 'a.b-c_1')
    assert.equal(scheduleIdOf('mail', schedulerId('mail-2', 'x')), undefined)
    assert.equal(scheduleIdOf('mail', 'mail'), undefined)
  })

  it('has no next time after its last job was due', () => {
    const view = (more: object) =>
      scheduleView('x', 'mail', { key: 'mail~x', name: 'mail', overlap: 'allow', catchUp: 'one', next: now, every: 1000, ...more }, now)
        .nextAt
    const at = new Date(now).toISOString()
    assert.equal(view({}), at)
    assert.equal(view({ limit: 2, iterationCount: 1 }), at)
    assert.equal(view({ limit: 2, iterationCount: 2 }), null)
    assert.equal(view({ limit: 2, iterationCount: 2, next: now + 1 }), new Date(now + 1).toISOString())
    assert.equal(view({ endDate: now }), null)
  })

  it('is in UTC by default, whatever the time zone of the machine', () => {
    assert.deepEqual(timingOf({ pattern: ' 0 0 * * * ' }), { pattern: '0 0 * * *', tz: 'UTC' })
    assert.deepEqual(timingOf({ every: 5000, limit: 2 }), { every: 5000, limit: 2 })
  })
})
