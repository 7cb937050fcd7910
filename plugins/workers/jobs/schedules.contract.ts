import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventually } from '../../../scripts/testing/eventually.js'
import type { JobLab } from './testing/job-lab.js'

/** Recurring jobs. */
export function describeSchedules(lab: JobLab): void {
  describe('on a schedule', () => {
    it('are listed for their worker only, changed and removed', async () => {
      const other = lab.recordOf(`${lab.queue}-x`, { queueName: lab.queue })
      const startDate = '2037-03-28T00:00:00.000Z'
      const made = await lab.jobs().schedule(lab.record, 'nightly.report', {
        pattern: '30 2 * * *',
        tz: 'Europe/Berlin',
        startDate,
        options: { name: 'report', attempts: 2 },
      })
      assert.deepEqual(made, {
        id: 'nightly.report',
        worker: lab.record.name,
        name: 'report',
        pattern: '30 2 * * *',
        tz: 'Europe/Berlin',
        startDate,
        overlap: 'allow',
        catchUp: 'one',
        nextAt: '2037-03-28T01:30:00.000Z',
      })
      const inUtc = await lab.jobs().schedule(other, 'nightly.report', { pattern: '30 2 * * *', startDate })
      assert.deepEqual([inUtc.tz, inUtc.nextAt], ['UTC', '2037-03-28T02:30:00.000Z'])
      await lab.store.queue(lab.queue).upsertJobScheduler('foreign', { every: 60_000 })
      assert.deepEqual(await lab.jobs().schedules(lab.record), [made])
      const changed = await lab.jobs().schedule(lab.record, 'nightly.report', { every: 3_600_000, startDate, limit: 3 })
      assert.deepEqual((await lab.jobs().schedules(lab.record))[0], changed)
      assert.deepEqual([changed.every, changed.pattern, changed.limit], [3_600_000, undefined, 3])
      await lab.jobs().unschedule(lab.record, 'nightly.report')
      assert.deepEqual(await lab.jobs().schedules(lab.record), [])
      assert.equal((await lab.jobs().schedules(other)).length, 1)
      await assert.rejects(lab.jobs().unschedule(lab.record, 'nightly.report'), { code: 'SCHEDULE_NOT_FOUND', status: 404 })
    })

    it('follow local time across a clock change', async () => {
      const next = async (pattern: string, startDate: string) =>
        (await lab.jobs().schedule(lab.record, 'dst', { pattern, tz: 'Europe/Berlin', startDate })).nextAt
      assert.equal(await next('0 9 * * *', '2037-03-28T12:00:00Z'), '2037-03-29T07:00:00.000Z')
      assert.equal(await next('0 9 * * *', '2037-03-27T12:00:00Z'), '2037-03-28T08:00:00.000Z')
      assert.equal(await next('30 2 * * *', '2037-03-28T12:00:00Z'), '2037-03-29T01:30:00.000Z')
      assert.equal(await next('30 2 * * *', '2037-10-25T00:45:00Z'), '2037-10-26T01:30:00.000Z')
    })

    it('are added up to their limit, with their options', async () => {
      const worker = lab.work((job) => [job.data, job.attemptsMade])
      const twice = worker.times('completed', 2)
      await lab
        .jobs()
        .schedule(lab.record, 'tick', { every: 1000, limit: 2, data: { n: 1 }, options: { timeout: 60_000, priority: 'High' } })
      await twice
      const found = await lab.store.list(lab.queue, 'completed', { offset: 0, limit: 5 })
      assert.equal(found.length, 2)
      for (const job of found) {
        assert.deepEqual([job.data, job.priority, (job.opts as { timeout?: number }).timeout], [{ n: 1 }, 51, 60_000])
      }
      const [view] = await lab.jobs().schedules(lab.record)
      assert.deepEqual([view?.limit, view?.nextAt], [2, null])
    })

    it('move to another queue with the jobs that their limit has left, and not at all when it has none', async () => {
      const to = lab.recordOf(lab.record.name, { queueName: `${lab.queue}-b` })
      const limits = async () => (await lab.jobs().schedules(to)).map(({ id, limit }) => [id, limit])
      const yearly = { pattern: '0 0 1 1 *' }
      const worker = lab.work(() => 1)
      // The count of a schedule in BullMQ continues when the schedule is replaced, but its limit begins again.
      const runOnce = async (id: string) => {
        const done = worker.completed()
        const [next] = (await lab.store.queue(lab.queue).getDelayed()).filter((job) => job.repeatJobKey?.endsWith(`~${id}`))
        await next?.promote()
        await done
      }
      for (const [id, limit] of [
        ['a-done', 1],
        ['b-begun', 3],
        ['c-replaced', 3],
        ['d-unlimited', undefined],
      ] as const) {
        await lab.jobs().schedule(lab.record, id, { every: 60_000, startDate: '2037-01-01T00:00:00Z', ...(limit && { limit }) })
        await runOnce(id)
      }
      await lab.jobs().schedule(lab.record, 'c-replaced', { ...yearly, limit: 1 })
      assert.equal(await lab.jobs().moveSchedules(lab.record, to), true)
      assert.deepEqual((await limits()).sort(), [
        ['b-begun', 2],
        ['c-replaced', 1],
        ['d-unlimited', undefined],
      ])
      assert.deepEqual(await lab.jobs().schedules(lab.record), [])
      assert.equal(await lab.jobs().moveSchedules(lab.record, to), false)
    })

    it('cannot be cancelled individually while they wait', async () => {
      await lab.jobs().schedule(lab.record, 'later', { pattern: '0 0 1 1 *' })
      const [next] = await lab.store.list(lab.queue, 'delayed', { offset: 0, limit: 1 })
      await assert.rejects(lab.jobs().cancel(lab.record, next?.id ?? '', 'no'), { code: 'JOB_SCHEDULED', status: 409, message: /"later"/ })
      assert.equal((await lab.jobs().schedules(lab.record)).length, 1)
    })

    it('stay as they are, and unrecorded, when the same is stored again', async () => {
      const startDate = '2037-03-28T01:30:00.000Z'
      const spec = {
        pattern: '30 2 * * *',
        tz: 'Europe/Berlin',
        startDate,
        limit: 4,
        overlap: 'skip',
        catchUp: 'all',
        data: { n: 1 },
      } as const
      assert.equal(await lab.jobs().sameSchedule(lab.record, 'same', spec), undefined)
      const made = await lab.jobs().schedule(lab.record, 'same', { ...spec, options: { deduplication: { id: 'x' } } })
      // The start is itself a time of the pattern.
      assert.deepEqual([made.nextAt, made.overlap, made.catchUp], [startDate, 'skip', 'all'])
      assert.deepEqual(await lab.jobs().sameSchedule(lab.record, 'same', { ...spec, options: { deduplication: { id: 'x' } } }), made)
      assert.equal(await lab.jobs().sameSchedule(lab.record, 'same', spec), undefined)
    })

    it('that have ended stay as they are when the same is stored again', async () => {
      const end = Date.now() + 1500
      const spec = { every: 1000, endDate: new Date(end).toISOString() }
      await lab.jobs().schedule(lab.record, 'ended', spec)
      await eventually('it has ended', () => Date.now() > end + 1000)
      const same = await lab.jobs().sameSchedule(lab.record, 'ended', spec)
      assert.deepEqual([same?.id, same?.nextAt], ['ended', null])
      await assert.rejects(lab.jobs().schedule(lab.record, 'ended', { ...spec, every: 2000 }), { code: 'INVALID_SCHEDULE' })
    })

    it('are rejected when they are invalid', async () => {
      for (const [id, spec] of [
        ['a/b', { every: 1000 }],
        ['x', {}],
        ['x', { pattern: '0 0 31 2 *' }],
        ['x', { pattern: '@daily' }],
        ['x', { pattern: '0 0 * * *', tz: 'Mars/Olympus' }],
        ['x', { every: 1000, endDate: '2001-01-01T00:00:00Z' }],
        ['x', { every: 1000, overlap: 'wait' as 'skip' }],
        ['x', { every: 1000, catchUp: '' as 'all' }],
      ] as const) {
        await assert.rejects(lab.jobs().schedule(lab.record, id, spec), { code: 'INVALID_SCHEDULE', status: 400 }, JSON.stringify(spec))
      }
      await assert.rejects(lab.jobs().schedule(lab.record, 'x', { every: 1000, data: 'a\0b' }), { code: 'QUEUE_INVALID_JOB' })
      assert.deepEqual(await lab.jobs().schedules(lab.record), [])
    })
  })
}
