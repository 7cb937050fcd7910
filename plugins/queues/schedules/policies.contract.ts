import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it, mock } from 'node:test'
import type { Job, Worker, WorkerOptions } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { type Queues, queuesService } from '../index.js'
import { scheduleReport } from '../schedule-facts.js'
import type { OwnedQueues } from '../service.js'
import { done } from '../testing/done.js'
import { dueOf } from './occurrences.js'
import { type ScheduleTiming, timingOfJob } from './timing.js'

const [hour, day] = [3_600_000, 86_400_000]

/** What schedules do with runs that overlap or were missed, and with a repeated request, on both stores. */
export function policiesContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`the runs of schedules on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let queue = ''
    let number = 0
    const open: Worker[] = []
    const realNow = Date.now

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    afterEach(async () => {
      await Promise.all(open.splice(0).map((worker) => worker.close()))
      for (const { key } of await queues.schedules(queue)) await queues.queue(queue).removeJobScheduler(key)
      mock.restoreAll()
    })
    after(() => host.stop())

    const fresh = (): string => {
      queue = `runs-${++number}`
      return queue
    }
    const work = (processor: (job: Job) => Promise<unknown>, concurrency = 5, more: Partial<WorkerOptions> = {}): Worker => {
      const worker = queues.worker(queue, processor, { concurrency, ...more })
      open.push(worker)
      return worker
    }
    const schedule = (timing: ScheduleTiming, more: object = {}) =>
      queues.schedule(queue, 's', timing, { name: 'tick', data: { n: 1 }, ...more })
    const stored = async () => (await queues.schedules(queue))[0]
    const planned = async (): Promise<Job | undefined> => (await queues.job(queue, `repeat:s:${(await stored())?.next}`))?.job
    /** Runs the planned job now. */
    const promote = async (): Promise<string> => {
      let job: Job | undefined
      await eventually('the next run exists', async () => (job = await planned()) !== undefined)
      await job?.promote()
      return job?.id ?? ''
    }

    /** A worker whose jobs run until they are ended. */
    const blocking = (more: Partial<WorkerOptions> = {}) => {
      const running = new Map<string, () => void>()
      let most = 0
      const worker = work(
        async (job) => {
          const ended = new Promise<void>((resolve) => running.set(job.id ?? '', resolve))
          most = Math.max(most, running.size)
          await ended
          running.delete(job.id ?? '')
        },
        5,
        more,
      )
      return { worker, running, most: () => most, end: (id: string) => running.get(id)?.() }
    }

    describe('that overlap', () => {
      const yearly = { pattern: '0 0 1 1 *', tz: 'UTC' }

      it('run both by default', async () => {
        fresh()
        await schedule(yearly)
        const { running, end } = blocking()
        const first = await promote()
        await eventually('the first run', () => running.has(first))
        const second = await promote()
        await eventually('both run', () => running.size === 2)
        assert.notEqual(second, first)
        end(first)
        end(second)
      })

      it('are skipped with skip, which the log says, until the run before has ended', async () => {
        fresh()
        await schedule({ ...yearly, overlap: 'skip' })
        const { running, most, end, worker } = blocking()
        const first = await promote()
        await eventually('the first run', () => running.has(first))
        for (let times = 0; times < 2; times++) {
          const skipped = await promote()
          await eventually('it is skipped', async () => (await queues.job(queue, skipped)) === undefined)
          // Said once the job has gone.
          const due = new Date(dueOf('s', skipped) ?? 0).toISOString()
          const said = new RegExp(`schedule \\\\?"s\\\\?" of queue \\\\?"${queue}\\\\?" skipped its run of ${due}: .*${first}`)
          await eventually('the log says so', () => said.test(host.logText()))
        }
        assert.equal((await queues.counts(queue)).active, 1)
        const completed = done(worker, 2)
        end(first)
        await eventually('the first has ended', () => running.size === 0)
        const third = await promote()
        await eventually('the next run', () => running.has(third))
        end(third)
        await completed
        assert.deepEqual([most(), (await queues.counts(queue)).completed], [1, 2])
      })

      it('are skipped when they were due before the run before ended, however late they are taken', async () => {
        fresh()
        await schedule({ pattern: '* * * * * *', tz: 'UTC', overlap: 'skip' })
        const ran: (readonly [due: number, start: number, end: number])[] = []
        const worker = work(async (job) => {
          const start = Date.now()
          await new Promise((resolve) => setTimeout(resolve, 1300))
          ran.push([dueOf('s', job.id) ?? 0, start, Date.now()])
        }, 1)
        await done(worker, 3)
        for (const [i, [due]] of ran.entries()) {
          if (i > 0) assert.ok(due >= (ran[i - 1]?.[2] ?? 0) - 50, `${JSON.stringify(ran)}`)
        }
      })

      it('wait with queue, and only the next one is planned', async () => {
        fresh()
        await schedule({ ...yearly, overlap: 'queue' })
        const { running, most, end, worker } = blocking()
        const first = await promote()
        await eventually('the first run', () => running.has(first))
        const second = await promote()
        await eventually('it waits', async () => (await planned())?.attemptsStarted === 1)
        assert.equal((await planned())?.id, second)
        const completed = done(worker, 2)
        end(first)
        await eventually('the second run', () => running.has(second))
        assert.equal(most(), 1)
        end(second)
        await completed
      })

      it('wait with queue for as long as the run before takes, and never stall', async () => {
        fresh()
        // So that a quarter of the time since a run was due is no whole number.
        mock.method(Date, 'now', () => Math.floor(realNow() / 4) * 4 + 1)
        await schedule({ pattern: '* * * * * *', tz: 'UTC', overlap: 'queue' })
        const { running, most, end, worker } = blocking()
        const errors: string[] = []
        worker.on('error', ({ message }) => errors.push(message))
        await eventually('the first run', () => running.size === 1)
        const [first = ''] = running.keys()
        await eventually('the second one has looked often', async () => errors.length > 0 || ((await planned())?.attemptsStarted ?? 0) > 5)
        const second = (await planned())?.id ?? ''
        const completed = done(worker, 2)
        end(first)
        await eventually('the second run', () => running.has(second))
        end(second)
        await completed
        assert.deepEqual([errors, most()], [[], 1])
      })

      it('wait with queue also after they have lost their worker while they waited', async () => {
        fresh()
        await schedule({ ...yearly, overlap: 'queue' })
        const { running, most, end, worker } = blocking({ lockDuration: 1000, stalledInterval: 200 })
        const first = await promote()
        await eventually('the first run', () => running.has(first))
        const backend = worker.getBackend()
        const { moveToDelayed } = backend
        let lost = false
        backend.moveToDelayed = (...given) => {
          if (lost) return moveToDelayed.apply(backend, given)
          lost = true
          return Promise.reject(new Error('lost'))
        }
        const second = await promote()
        await eventually('it stalls', async () => (await queues.job(queue, second))?.job.stalledCounter === 1)
        await eventually('it waits or runs', async () => running.size > 1 || (await queues.counts(queue)).delayed === 1)
        assert.equal(most(), 1)
        const completed = done(worker, 2)
        end(first)
        await eventually('the second run', () => running.has(second))
        end(second)
        await completed
        assert.equal(most(), 1)
      })

      it('are not held up by a run before that was removed, and are by one that waits for its retry', async () => {
        fresh()
        await schedule({ ...yearly, overlap: 'queue' }, { options: { attempts: 2, backoff: { type: 'fixed', delay: hour } } })
        let fails = true
        const ran: string[] = []
        const worker = work(async (job) => {
          ran.push(job.id ?? '')
          if (fails) throw new Error('fails')
        })
        const failed = new Promise((resolve) => worker.once('failed', resolve))
        const first = await promote()
        await failed
        fails = false
        const second = await promote()
        await eventually('it waits', async () => (await planned())?.attemptsStarted === 1)
        assert.deepEqual(ran, [first])
        const completed = done(worker, 1)
        assert.equal((await queues.cancel(queue, first, 'no longer needed')).outcome, 'removed')
        await completed
        assert.deepEqual(ran, [first, second])
      })

      it('are skipped while another job with their deduplication id waits or runs', async () => {
        fresh()
        await schedule(yearly, { options: { deduplication: { id: 'once' } } })
        const { running, end, worker } = blocking()
        const other = await queues.add(queue, 'other', {}, { deduplication: { id: 'once' } })
        await eventually('the other runs', () => running.has(other.id ?? ''))
        const skipped = await promote()
        await eventually('it is skipped', async () => (await queues.job(queue, skipped)) === undefined)
        const completed = done(worker, 2)
        end(other.id ?? '')
        await eventually('the other has ended', () => running.size === 0)
        const run = await promote()
        await eventually('the next run', () => running.has(run))
        const again = await queues.add(queue, 'other', {}, { deduplication: { id: 'once' } })
        assert.equal(again.id, run)
        end(run)
        await completed
      })
    })

    describe('with a deduplication', () => {
      const yearly = { pattern: '0 0 1 1 *', tz: 'UTC' }

      it('are skipped within its ttl, though the run before has ended', async () => {
        fresh()
        await schedule(yearly, { options: { deduplication: { id: 'ttl', mode: 'ttl', ttl: hour } } })
        const worker = work(async () => undefined)
        const completed = done(worker, 1)
        const first = await promote()
        await completed
        const skipped = await promote()
        await eventually('it is skipped', async () => (await queues.job(queue, skipped)) === undefined)
        const other = await queues.add(queue, 'other', {}, { deduplication: { id: 'ttl', ttl: hour } })
        assert.deepEqual([other.id, other.deduplicated], [first, true])
      })

      it('run again when its ttl has ended', async () => {
        fresh()
        await schedule(yearly, { options: { deduplication: { id: 'ttl', mode: 'ttl', ttl: 20 } } })
        const ran = new Set<string | undefined>()
        work(async (job) => void ran.add(job.id))
        await eventually('two have run', async () => {
          const next = await promote()
          await eventually('it has run or was skipped', async () => ran.has(next) || (await queues.job(queue, next)) === undefined)
          return ran.size > 1
        })
      })

      it('of a mode that replaces data are refused, and nothing is stored', async () => {
        fresh()
        for (const deduplication of [
          { id: 'd', mode: 'keep-latest' },
          { id: 'd', mode: 'debounce', ttl: 1000 },
          { id: 'd', keepLastIfActive: true },
          { id: 'd', ttl: 1000, extend: true },
          { id: 'd', mode: 'never' },
        ]) {
          await assert.rejects(
            schedule(yearly, { options: { deduplication } }),
            { code: 'QUEUE_SCHEDULE_DEDUPLICATION', status: 400, message: /takes .*until-done and ttl/ },
            JSON.stringify(deduplication),
          )
        }
        assert.deepEqual(await queues.schedules(queue), [])
      })
    })

    describe('that were missed while nothing was running', () => {
      /** Plans a schedule, lets `ms` pass, starts a worker, and returns when the runs were due that it made up, from the time of planning. */
      const madeUp = async (timing: ScheduleTiming, ms: number, expected: number): Promise<readonly number[]> => {
        fresh()
        mock.restoreAll()
        // In the middle of a day and an hour, so that nothing is due during the test.
        const start = Math.floor(realNow() / day) * day + 12.5 * hour
        mock.method(Date, 'now', () => start)
        await schedule(timing)
        mock.restoreAll()
        const shift = start + ms - realNow()
        mock.method(Date, 'now', () => realNow() + shift)
        const ran: number[] = []
        const worker = work(async (job) => void (job.name === 'tick' && ran.push(dueOf('s', job.id) ?? 0)), 1)
        const completed = done(worker, expected)
        if (expected > 0) await completed
        const last = done(worker, 1)
        await queues.add(queue, 'last', {})
        await last
        const next = (await stored())?.next ?? 0
        assert.ok(next > Date.now(), `the next run is at ${new Date(next).toISOString()}`)
        return ran.map((due) => (due - start) / hour)
      }
      const hourly = { pattern: '0 * * * *', tz: 'UTC' }
      const daily = { pattern: '0 0 * * *', tz: 'UTC' }

      it('are made up once by default', async () => {
        assert.deepEqual(await madeUp(hourly, 3.25 * hour, 1), [0.5])
        assert.deepEqual(await madeUp({ ...hourly, catchUp: 'one' }, 50 * hour, 1), [0.5])
        assert.equal((await madeUp({ every: hour, startDate: realNow() + 3 * day }, 5 * day, 1)).length, 1)
      })

      it('are made up in order with all, and only those of the last day', async () => {
        assert.deepEqual(await madeUp({ ...hourly, catchUp: 'all' }, 3.25 * hour, 3), [0.5, 1.5, 2.5])
        assert.deepEqual(await madeUp({ ...daily, catchUp: 'all' }, 3 * day, 1), [59.5])
        const startDate = Math.floor(realNow() / day) * day + 13 * hour
        assert.deepEqual(await madeUp({ every: hour, startDate, catchUp: 'all' }, 3.25 * hour, 3), [0.5, 1.5, 2.5])
      })

      it('are left out with none, and those of before the last day always', async () => {
        assert.deepEqual(await madeUp({ ...hourly, catchUp: 'none' }, 3.25 * hour, 0), [])
        assert.match(host.logText(), /missed its run of .* while nothing was running/)
        assert.deepEqual(await madeUp({ every: hour, startDate: realNow() + 2 * day, catchUp: 'none' }, 3.25 * day, 0), [])
        const weekday = (new Date(realNow()).getUTCDay() + 1) % 7
        assert.deepEqual(await madeUp({ pattern: `0 0 * * ${weekday}`, tz: 'UTC' }, 3 * day, 0), [])
      })

      it('are made up one after the other with all and skip or queue', async () => {
        for (const overlap of ['skip', 'queue'] as const) {
          assert.deepEqual(await madeUp({ ...hourly, catchUp: 'all', overlap }, 3.25 * hour, 3), [0.5, 1.5, 2.5], overlap)
        }
      })

      it('are left out or made up as each schedule says, however many are due', async () => {
        fresh()
        mock.method(Date, 'now', () => realNow() - 5 * hour)
        const catchUps = Array.from({ length: 230 }, (_, i) => (i % 5 === 0 ? 'one' : 'none'))
        await Promise.all(
          catchUps.map((catchUp, i) => queues.schedule(queue, `s${i}`, { ...hourly, catchUp }, { name: catchUp, data: { n: 1 } })),
        )
        mock.restoreAll()
        const ran: string[] = []
        const worker = work(async ({ name }) => void ran.push(name), 20)
        await done(worker, 46)
        const last = done(worker, 1)
        await queues.add(queue, 'last', {})
        await last
        assert.deepEqual([new Set(ran), ran.length], [new Set(['one', 'last']), 47])
        for (const { next = 0 } of await queues.schedules(queue)) assert.ok(next > Date.now())
      })

      it('look for the end of the run before soon, however late they are', async () => {
        fresh()
        mock.method(Date, 'now', () => realNow() - 5 * hour)
        await schedule({ ...hourly, catchUp: 'all', overlap: 'skip' })
        mock.restoreAll()
        const { running, end } = blocking()
        await eventually('the first run', () => running.size === 1)
        await eventually('the second one waits', async () => (await planned())?.attemptsStarted === 1)
        const { delay = 0 } = (await planned()) ?? {}
        assert.ok(delay >= 500 && delay < 5000, `it looks again after ${delay} ms`)
        await queues.queue(queue).removeJobScheduler('s')
        for (const id of running.keys()) end(id)
      })

      it('are not missed when another worker has only been busy', async () => {
        fresh()
        let end = (): void => undefined
        const busy = work((job) => (job.name === 'busy' ? new Promise<void>((resolve) => (end = resolve)) : Promise.resolve()), 1)
        const active = new Promise((resolve) => busy.once('active', resolve))
        await queues.add(queue, 'busy', {})
        await active
        const first = await schedule({ pattern: '* * * * * *', tz: 'UTC', catchUp: 'none' })
        await eventually('it is due', () => Date.now() > (dueOf('s', first?.id) ?? 0) + 50)
        const ran: (string | undefined)[] = []
        const second = work(async (job) => void ran.push(job.id))
        await done(second, 1)
        end()
        assert.equal(ran[0], first?.id)
      })
    })

    describe('when the schedule is stored again', () => {
      it('stay as planned, with the jobs that the limit has left', async () => {
        for (const timing of [
          { pattern: '0 0 1 1 *', tz: 'UTC', limit: 3 },
          { every: hour, limit: 3 },
          { every: hour, limit: 3, catchUp: 'all' },
          { every: 2 * day, startDate: realNow() + day, endDate: realNow() + 90 * day, limit: 3 },
        ] as const) {
          fresh()
          const options = { attempts: 3, backoff: { type: 'fixed', delay: 5 }, priority: 7 } as const
          await schedule(timing, { options })
          const worker = work(() => Promise.resolve())
          const ran = done(worker, 1)
          const next = await planned()
          if ((await next?.getState()) === 'delayed') await next?.promote()
          await ran
          await eventually('the next one is planned', async () => timingOfJob((await planned())?.opts)?.count === 2)
          const before = [await stored(), (await planned())?.asJSON()]
          assert.equal(await queues.isScheduled(queue, 's', timing, { name: 'tick', data: { n: 1 }, options }), true)
          const again = await schedule({ ...timing }, { options: { ...options } })
          assert.equal(again?.id, (await planned())?.id)
          assert.deepEqual([await stored(), (await planned())?.asJSON()], before, JSON.stringify(timing))
          for (const [change, more] of [
            [{ overlap: 'skip' }, {}],
            [{ catchUp: 'none' }, {}],
            [{ limit: 4 }, {}],
            [{}, { data: { n: 2 } }],
            [{}, { name: 'other' }],
            [{}, { options: { ...options, attempts: 4 } }],
          ] as const) {
            const template = { name: 'tick', data: { n: 1 }, options, ...more }
            assert.equal(await queues.isScheduled(queue, 's', { ...timing, ...change }, template), false, JSON.stringify([change, more]))
          }
          await worker.close()
          await queues.queue(queue).removeJobScheduler('s')
        }
      })

      it('do not begin again after the last one', async () => {
        fresh()
        const worker = work(() => Promise.resolve())
        const ran = done(worker, 1)
        await schedule({ every: hour, limit: 1 })
        await ran
        assert.equal(await schedule({ every: hour, limit: 1 }), undefined)
        assert.equal((await queues.counts(queue)).delayed, 0)
        for (const timing of [{ every: hour }, { every: hour, catchUp: 'all' }] as const) {
          const endDate = realNow() + 60_000
          const last = done(worker, 1)
          await queues.schedule(queue, timing.every + endDate.toString(), { ...timing, endDate }, { name: 'tick' })
          await last
          mock.method(Date, 'now', () => realNow() + 2 * hour)
          assert.equal(await queues.schedule(queue, timing.every + endDate.toString(), { ...timing, endDate }, { name: 'tick' }), undefined)
          mock.restoreAll()
          assert.equal((await queues.counts(queue)).delayed, 0)
        }
      })

      it('go on when their next job was lost', async () => {
        fresh()
        const job = await schedule({ pattern: '0 0 1 1 *', tz: 'UTC' })
        await queues.queue(queue).obliterate({ force: true })
        const again = await schedule({ pattern: '0 0 1 1 *', tz: 'UTC' })
        assert.equal(again?.id, job?.id)
        assert.equal((await queues.counts(queue)).delayed, 1)
      })
    })

    it('are due at the start and at the end, and not after it', async () => {
      for (const timing of [{ pattern: '* * * * * *', tz: 'UTC' }, { every: 1000 }, { every: 1000, catchUp: 'all' }] as const) {
        const next = Math.ceil(realNow() / 1000) * 1000 + 1000
        fresh()
        const [startDate, endDate] = [next + 60_000, next + 61_000]
        const first = await schedule({ ...timing, startDate, endDate })
        assert.equal(dueOf('s', first?.id), startDate, JSON.stringify(timing))
        mock.method(Date, 'now', () => realNow() + 60_000 + Math.max(0, next - realNow()))
        const ran: number[] = []
        const worker = work(async (job) => void ran.push(dueOf('s', job.id) ?? 0))
        await done(worker, 2)
        assert.deepEqual(ran, [startDate, endDate], JSON.stringify(timing))
        await worker.close()
        mock.restoreAll()
        assert.equal((await queues.counts(queue)).delayed, 0)
      }
    })

    /** What needs attention in the queue, as kind and schedule. */
    const attention = async (): Promise<readonly (readonly [kind: string, schedule: string | undefined])[]> => {
      const { facts, notChecked } = await scheduleReport(queues as OwnedQueues, Date.now)
      assert.deepEqual(notChecked, [])
      return facts.filter((fact) => fact.queue === queue).map(({ kind, subject }) => [kind, subject?.split(':').at(-1)])
    }

    it('are noticed when they are overdue, behind any number of schedules that have ended', async () => {
      fresh()
      const worker = work(() => Promise.resolve(), 20)
      const ended = done(worker, 230)
      await Promise.all(Array.from({ length: 230 }, (_, i) => queues.schedule(queue, `e${i}`, { every: hour, limit: 1 }, { name: 'x' })))
      await ended
      await worker.close()
      await schedule({ every: hour })
      assert.deepEqual(await attention(), [])
      mock.method(Date, 'now', () => realNow() + 60_000)
      assert.deepEqual(await attention(), [['schedule-overdue', 's']])
    })

    it('are noticed when the last one has failed, until it is retried or another one has succeeded, whatever else fails', async () => {
      for (const timing of [
        { pattern: '0 0 1 1 *', tz: 'UTC' },
        { every: hour },
        { every: hour, catchUp: 'none' },
        { every: hour, limit: 1 },
      ] as const) {
        fresh()
        let fails = true
        const worker = work(() => (fails ? Promise.reject(new Error('no')) : Promise.resolve()), 20)
        // Not the planned one, which may be the second one by now.
        const first = (await schedule(timing))?.id ?? ''
        if ((await queues.job(queue, first))?.state === 'delayed') await promote()
        await eventually('it has failed', async () => (await queues.job(queue, first))?.state === 'failed')
        await queues.addBulk(queue, Array(60).fill({ name: 'other' }))
        await eventually('others have failed', async () => (await queues.counts(queue)).failed === 61)
        assert.deepEqual(await attention(), [['schedule-failed', 's']], JSON.stringify(timing))
        fails = false
        if ('limit' in timing) await queues.retry(queue, first)
        else await promote()
        await eventually('one has succeeded', async () => (await queues.counts(queue)).completed === 1)
        assert.deepEqual(await attention(), [], JSON.stringify(timing))
        await worker.close()
        await queues.queue(queue).removeJobScheduler('s')
      }
    })

    it('can be cancelled, deleted and purged like other jobs, but for the next one', async () => {
      fresh()
      await schedule({ pattern: '0 0 1 1 *', tz: 'UTC' }, { options: { attempts: 2, backoff: { type: 'fixed', delay: hour } } })
      let fails = false
      const worker = work(() => (fails ? Promise.reject(new Error('fails')) : Promise.resolve()))
      const runOnce = async (): Promise<string> => {
        const id = await promote()
        // Completed, or delayed until its retry.
        await eventually('it has run', async () => (await queues.job(queue, id))?.state === (fails ? 'delayed' : 'completed'))
        await eventually('the next one is planned', async () => (await stored())?.next !== dueOf('s', id))
        return id
      }
      const undo = { batch: 'x', ms: 60_000 }
      const [deleted, purged] = [await runOnce(), await runOnce()]
      assert.equal(await queues.deleteJob(queue, deleted, undo), 'restorable')
      assert.deepEqual((await queues.purge(queue, [purged])).removed, [purged])
      fails = true
      const [cancelled, deletedLater, purgedLater] = [await runOnce(), await runOnce(), await runOnce()]
      assert.equal((await queues.cancel(queue, cancelled, 'no')).outcome, 'removed')
      assert.equal(await queues.deleteJob(queue, deletedLater, undo), 'restorable')
      assert.deepEqual((await queues.purge(queue, [purgedLater])).removed, [purgedLater])
      await worker.close()
      await eventually('the next run exists', async () => (await planned()) !== undefined)
      const next = (await planned())?.id ?? ''
      assert.equal((await queues.cancel(queue, next, 'no')).outcome, 'scheduled')
      assert.equal(await queues.deleteJob(queue, next, undo), 'tied')
      assert.deepEqual([(await queues.schedules(queue)).length, (await queues.counts(queue)).delayed], [1, 1])
    })

    it('can be deleted and purged when they were the last ones', async () => {
      for (const [end, ends] of [
        [(id: string) => queues.deleteJob(queue, id, { batch: 'x', ms: 1000 }), 'restorable'],
        [async (id: string) => (await queues.purge(queue, [id])).removed.length, 1],
      ] as const) {
        fresh()
        const worker = work(() => Promise.resolve())
        const ran = done(worker, 1)
        const job = await schedule({ every: hour, limit: 1 })
        await ran
        assert.equal(await end(job?.id ?? ''), ends)
        assert.equal((await queues.counts(queue)).completed, 0)
        await worker.close()
      }
    })

    it('are refused with what is wrong, and nothing is stored', async () => {
      fresh()
      for (const [timing, word] of [
        [{}, 'every'],
        [{ every: 1000, pattern: '* * * * *' }, 'every'],
        [{ every: 0 }, 'every'],
        [{ every: 1.5 }, 'every'],
        [{ every: 1000, limit: 0 }, 'limit'],
        [{ every: 1000, overlap: 'wait' }, 'overlap'],
        [{ every: 1000, overlap: null }, 'overlap'],
        [{ every: 1000, catchUp: 'some' }, 'catchUp'],
        [{ every: 1000, startDate: 'soon' }, 'startDate'],
        [{ every: 1000, startDate: realNow() + 2000, endDate: realNow() + 1000 }, 'endDate'],
        [{ pattern: 'nonsense' }, 'pattern'],
        [{ pattern: '0 0 31 2,4 *', tz: 'UTC' }, 'pattern'],
        [{ pattern: '@every 1000 0' }, 'pattern'],
        [{ pattern: '* * * * *', tz: 'Mars/Olympus' }, 'tz'],
      ] as const) {
        const refused = { code: 'QUEUE_INVALID_SCHEDULE', status: 400, message: new RegExp(`"${word}"`) }
        await assert.rejects(schedule(timing as unknown as ScheduleTiming), refused, JSON.stringify(timing))
      }
      assert.deepEqual(await queues.schedules(queue), [])
    })
  })
}
