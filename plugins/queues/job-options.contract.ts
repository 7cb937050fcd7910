import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { DelayedError, type Job, type Worker } from 'bullmq'
import type { ZinError } from 'zin'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import fc from '../../scripts/testing/properties.js'
import { type AddedJob, type DeduplicationMode, type JobDeduplication, type Queues, queuesService } from './index.js'

/** The states that a job with the deduplication id can be in when another one is added. */
const states = ['none', 'waiting', 'prioritized', 'delayed', 'active', 'waiting for a retry', 'completed', 'failed', 'deleted'] as const
type State = (typeof states)[number]

/**
 * What adding another job does: a new job, nothing, or other data for the existing job, which may also be put off by the quiet time. `after`:
 * one more job runs after the running one.
 */
type Effect = 'new' | 'nothing' | 'data' | 'data, later' | 'after'

const unless = (same: Effect, more: Partial<Record<State, Effect>>): Readonly<Record<State, Effect>> =>
  ({
    ...Object.fromEntries(states.map((state) => [state, same])),
    ...{ none: 'new', completed: 'new', failed: 'new', deleted: 'new', ...more },
  }) as Readonly<Record<State, Effect>>

/** The table in the README. */
const effects: Readonly<Record<DeduplicationMode, Readonly<Record<State, Effect>>>> = {
  'until-done': unless('nothing', {}),
  ttl: unless('nothing', { completed: 'nothing', failed: 'nothing' }),
  'keep-latest': unless('data', { active: 'after' }),
  debounce: unless('data', { active: 'after', delayed: 'data, later', 'waiting for a retry': 'data, later' }),
}

/** Ids that some parser of numbers takes for a number. */
const numberLike = fc.oneof(
  fc.constantFrom(
    ...['NaN', 'nan', 'Infinity', '-Infinity', '-0', '+1', '1e3', '0x10', '0b1', '1_000', '1n', '1.0', ' 1', '\u0661', '\uff11'],
  ),
  fc.double().map(String),
  fc.tuple(fc.constantFrom('', '+', '-', ' ', '0x'), fc.nat(), fc.constantFrom('', 'e3', '.0', 'n', ' ')).map((parts) => parts.join('')),
)

/** Ids, deduplication, retries and retention of added jobs, on both stores. */
export function jobOptionsContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`options of jobs on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `options${++number}`
    const stateOf = async (queue: string, id = '') => (await queues.job(queue, id))?.state
    const open: Worker[] = []
    const worker = (queue: string, run: (job: Job) => Promise<unknown>): Worker => {
      const made = queues.worker(queue, run)
      open.push(made)
      return made
    }

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(async () => {
      await Promise.all(open.map((one) => one.close(true)))
      await host.stop()
    })

    it('without a jobId have an id that no other queue uses and that sorts by time, in bulks and flows too', async () => {
      const [first, second] = [fresh(), fresh()]
      const added: string[] = []
      for (const queue of [first, second, first]) added.push((await queues.add(queue, 'x', {})).id ?? '')
      for (const { id } of await queues.addBulk(second, [{ name: 'a' }, { name: 'b' }])) added.push(id ?? '')
      const { job } = await queues.addFlow({ name: 'root', queueName: first, children: [{ name: 'leaf', queueName: second }] })
      assert.equal(new Set(added).size, 5)
      assert.deepEqual(added.toSorted(), added)
      assert.ok((job.id ?? '').length === 20 && !added.includes(job.id ?? ''))
    })

    it('with a jobId that exists are not added again and say so, also at the same time, and after the first one has ended', async () => {
      const queue = fresh()
      const jobId = 'order-4711'
      const same = () => queues.add(queue, 'x', { n: 1 }, { jobId })
      const added = await Promise.all([same(), same(), same()])
      assert.deepEqual(
        added.map(({ id }) => id),
        [jobId, jobId, jobId],
      )
      assert.equal(added.filter(({ deduplicated }) => deduplicated).length, 2)
      const consumer = worker(queue, async () => 'done')
      await once(consumer, 'completed')
      assert.equal((await same()).deduplicated, true)
      assert.equal(await stateOf(queue, jobId), 'completed')
      const bulk = await queues.addBulk(queue, [{ name: 'x', options: { jobId } }, { name: 'y' }])
      assert.deepEqual(
        bulk.map(({ deduplicated }) => deduplicated),
        [true, false],
      )
      await consumer.close()
    })

    it('with a jobId that looks like a number are refused as such, or are found by it', async () => {
      const queue = fresh()
      const check = async (jobId: string): Promise<void> => {
        try {
          await queues.add(queue, 'x', {}, { jobId })
          assert.equal(await stateOf(queue, jobId), 'waiting', jobId)
        } catch (error) {
          const { code, status } = error as ZinError
          assert.deepEqual([code, status], ['QUEUE_INVALID_JOB', 400], `${jobId}: ${error}`)
        }
      }
      for (const id of ['NaN', '-1.5', '-Infinity']) await check(id)
      await fc.assert(fc.asyncProperty(numberLike, check), { numRuns: 60 })
    })

    it('with the jobId of a deleted or purged job are added', async () => {
      const queue = fresh()
      for (const remove of [() => queues.deleteJob(queue, 'again', { batch: 'b', ms: 60_000 }), () => queues.purge(queue, ['again'])]) {
        await queues.add(queue, 'x', {}, { jobId: 'again' })
        await remove()
        assert.equal((await queues.add(queue, 'x', {}, { jobId: 'again' })).deduplicated, false)
        await queues.purge(queue, ['again'])
      }
    })

    /** Adds a job with a deduplication and brings it to a state. */
    async function arrange(
      queue: string,
      state: State,
      deduplication: JobDeduplication,
    ): Promise<{ job?: AddedJob; end: () => void; ended: Promise<unknown> }> {
      const idle = { end: () => undefined, ended: Promise.resolve() }
      if (state === 'none') return idle
      const isDebounced = deduplication.mode === 'debounce'
      const delay = state === 'delayed' && !isDebounced ? { delay: 60_000 } : {}
      const priority = state === 'prioritized' ? { priority: 5 } : {}
      const retries = state === 'waiting for a retry' ? { attempts: 2, backoff: { type: 'fixed', delay: 60_000 } } : {}
      const job = await queues.add(queue, 'first', { n: 1 }, { deduplication, ...delay, ...priority, ...retries })
      if (isDebounced && state !== 'delayed')
        await queues
          .queue(queue)
          .getJob(job.id ?? '')
          .then((found) => found?.promote())
      if (state === 'deleted') await queues.deleteJob(queue, job.id ?? '', { batch: 'b', ms: 60_000 })
      if (state === 'waiting' || state === 'prioritized' || state === 'delayed' || state === 'deleted') return { ...idle, job }
      let end: () => void = () => undefined
      const running = new Promise<void>((resolve) => {
        end = resolve
      })
      const consumer = worker(queue, async () => {
        if (state === 'active') await running
        if (state !== 'active' && state !== 'completed') throw new Error('no')
      })
      const ended = once(consumer, state === 'active' || state === 'completed' ? 'completed' : 'failed')
      if (state === 'active') {
        await eventually('it runs', async () => (await stateOf(queue, job.id)) === 'active')
        await consumer.pause(true)
      } else {
        await ended
        await consumer.close()
      }
      return { job, end, ended: ended.then(() => consumer.close()) }
    }

    const jobsOf = async (queue: string): Promise<readonly Job[]> =>
      (
        await Promise.all((['waiting', 'delayed', 'active'] as const).map((state) => queues.list(queue, state, { offset: 0, limit: 10 })))
      ).flat()

    for (const mode of Object.keys(effects) as DeduplicationMode[]) {
      for (const state of states) {
        const effect = effects[mode][state]
        it(`with the deduplication ${mode} and an existing job that is ${state}: ${effect}`, async () => {
          const queue = fresh()
          const timed = mode === 'ttl' || mode === 'debounce' ? { ttl: 60_000 } : {}
          const deduplication: JobDeduplication = { id: 'd', mode, ...timed }
          const { end, ended, job } = await arrange(queue, state, deduplication)
          const before = Date.now()
          await queues.add(queue, 'second', { n: 2 }, { deduplication })
          const last = await queues.add(queue, 'last', { n: 3 }, { deduplication })
          if (effect === 'new') {
            assert.notEqual(last.id, job?.id)
            assert.equal((await jobsOf(queue)).length, 1)
            assert.equal(last.deduplicated, true, 'the second one exists')
            return
          }
          assert.deepEqual([last.id, last.deduplicated], [job?.id, true])
          const existing = (await queues.job(queue, job?.id ?? ''))?.job
          assert.deepEqual(existing?.data, { n: effect.startsWith('data') ? 3 : 1 })
          if (effect === 'data, later') assert.ok((existing?.readyAt ?? 0) >= before + 60_000)
          if (state === 'active') {
            end()
            await ended
            const next = await jobsOf(queue)
            assert.deepEqual(
              next.map(({ data, name: of }) => [of, data.n]),
              effect === 'after' ? [['last', 3]] : [],
            )
          }
        })
      }
    }

    it('are counted as new again when the ttl of their deduplication has ended, though the first one waits', async () => {
      const queue = fresh()
      const add = () => queues.add(queue, 'x', {}, { deduplication: { id: 'd', ttl: 20 } })
      await add()
      await eventually('the ttl ends', async () => !(await add()).deduplicated)
    })

    it('are debounced: they run once, with the last data, when none was added for the quiet time', async () => {
      const queue = fresh()
      const ran: unknown[] = []
      for (const n of [1, 2, 3]) await queues.add(queue, 'x', { n }, { deduplication: { id: 'd', mode: 'debounce', ttl: 200 } })
      const consumer = worker(queue, async ({ data }) => void ran.push(data.n))
      await once(consumer, 'completed')
      assert.deepEqual(ran, [3])
      assert.deepEqual(await jobsOf(queue), [])
      await consumer.close()
    })

    it('keep the last data of many that are added at once while one runs, which gives exactly one more run', async () => {
      const queue = fresh()
      const ran: number[] = []
      let end: () => void = () => undefined
      const consumer = worker(queue, async ({ data }) => {
        ran.push(data.n)
        if (ran.length === 1) await new Promise<void>((resolve) => (end = resolve))
      })
      const add = (n: number) => queues.add(queue, 'x', { n }, { deduplication: { id: 'd', mode: 'keep-latest' } })
      await add(0)
      await eventually('it runs', async () => ran.length === 1)
      await Promise.all(Array.from({ length: 20 }, (_, n) => add(n + 1)))
      await add(99)
      end()
      await eventually('the last one runs', async () => ran.length > 1 && (await jobsOf(queue)).length === 0)
      assert.deepEqual(ran, [0, 99])
      await consumer.close()
    })

    it('are not run once more when the running one was purged', async () => {
      const queue = fresh()
      let end: () => void = () => undefined
      const consumer = worker(queue, () => new Promise<void>((resolve) => (end = resolve)))
      const add = () => queues.add(queue, 'x', {}, { deduplication: { id: 'd', mode: 'keep-latest' } })
      const { id = '' } = await add()
      await eventually('it runs', async () => (await stateOf(queue, id)) === 'active')
      await add()
      assert.deepEqual(await queues.purge(queue, [id]), { removed: [], running: [id] })
      const ended = once(consumer, 'completed')
      end()
      await ended
      assert.deepEqual(await jobsOf(queue), [])
      await consumer.close()
    })

    it('do not put the data of one subject into the waiting job of another', async () => {
      const queue = fresh()
      const add = (subject: string) => queues.add(queue, 'x', { subject }, { subject, deduplication: { id: 'd', mode: 'keep-latest' } })
      const { id } = await add('ann')
      await assert.rejects(add('bob'), { code: 'QUEUE_INVALID_JOB', message: /another subject/ })
      assert.deepEqual((await queues.job(queue, id ?? ''))?.job.data, { subject: 'ann' })
    })

    it('with times that are no whole ms are stored with whole ones, and those that are no numbers are refused', async () => {
      const queue = fresh()
      const options = { delay: 60_000.25, timestamp: Date.now() + 0.5 }
      const added = [
        await queues.add(queue, 'x', {}, options),
        ...(await queues.addBulk(queue, [
          { name: 'x', options },
          { name: 'y', options },
        ])),
        (await queues.addFlow({ name: 'x', queueName: queue, opts: options })).job,
        await queues.add(queue, 'x', {}, { ...options, delay: 60_001, deduplication: { id: 'd', mode: 'keep-latest' } }),
        await queues.queue(queue).add('x', {}, options),
      ]
      for (const { id = '' } of added) {
        const { job } = (await queues.job(queue, id)) ?? {}
        assert.deepEqual([job?.delay, job?.timestamp], [60_001, Math.ceil(options.timestamp)])
        await job?.changeDelay(90_000.5)
      }
      assert.equal((await queues.counts(queue)).delayed, added.length)
      for (const wrong of [
        { delay: Number.NaN },
        { delay: Number.POSITIVE_INFINITY },
        { delay: '5' },
        { timestamp: Number.NaN },
        { attempts: 1.5 },
        { attempts: 2 ** 31 },
        { attempts: Number.MAX_SAFE_INTEGER },
        { attempts: 1e308 },
        { delay: 1e300 },
        { timestamp: -1e300 },
      ]) {
        const refused = { code: 'QUEUE_INVALID_JOB' }
        const template = { name: 'x', options: wrong as never }
        await assert.rejects(queues.add(queue, 'x', {}, wrong as never), refused, JSON.stringify(wrong))
        await assert.rejects(queues.addBulk(queue, [template]), refused, JSON.stringify(wrong))
        await assert.rejects(queues.schedule(queue, 's', { every: 60_000 }, template), refused, JSON.stringify(wrong))
        await assert.rejects(queues.addFlow({ queueName: queue, name: 'x', opts: wrong as never }), refused, JSON.stringify(wrong))
      }
      await queues.add(queue, 'most', {}, { attempts: 2 ** 31 - 1, delay: Number.MAX_SAFE_INTEGER })
      const most = { every: 60_000, startDate: Date.now() + 3_600_000 }
      await queues.schedule(queue, 'most', { ...most, limit: 2 ** 31 - 1 }, { name: 'x' })
      await assert.rejects(queues.schedule(queue, 'more', { ...most, limit: 2 ** 31 }, { name: 'x' }), { code: 'QUEUE_INVALID_SCHEDULE' })
      const consumer = worker(queue, async (job) => {
        await job.moveToDelayed(Date.now() + 90_000.5, job.token)
        throw new DelayedError()
      })
      const { id = '' } = await queues.add(queue, 'z', {})
      await eventually('it is delayed', async () => (await stateOf(queue, id)) === 'delayed')
      await consumer.close()
    })

    it('with a wrong deduplication or backoff are refused, and nothing is stored', async () => {
      const queue = fresh()
      const deduplications = [
        { id: 'd', mode: 'never' },
        { id: 'd', mode: 'ttl' },
        { id: 'd', mode: 'debounce' },
        { id: 'd', mode: 'keep-latest', ttl: 5 },
        { id: 'd', mode: 'ttl', ttl: 0 },
        { id: 'd', ttl: 1.5 },
        { id: 'd', mode: null },
      ].map((deduplication) => ({ deduplication }))
      const delayed = { delay: 5, deduplication: { id: 'd', mode: 'debounce', ttl: 5 } }
      const backoffs = [
        { type: 'fixed', delay: -1 },
        { type: 'fixed', delay: 1, jitter: 2 },
        { type: 'fixed', delay: 1, max: 0 },
      ]
      for (const options of [...deduplications, delayed, ...backoffs.map((backoff) => ({ backoff }))]) {
        await assert.rejects(queues.add(queue, 'x', {}, options as never), { code: 'QUEUE_INVALID_JOB' }, JSON.stringify(options))
      }
      await assert.rejects(queues.addBulk(queue, [{ name: 'x', options: { deduplication: { id: 'd', mode: 'keep-latest' } } }]), {
        code: 'QUEUE_INVALID_JOB',
      })
      assert.deepEqual(await jobsOf(queue), [])
    })

    for (const type of ['fixed', 'exponential']) {
      it(`wait for a retry no longer than their max, through 100 attempts with a ${type} backoff`, async () => {
        const queue = fresh()
        const consumer = worker(queue, async () => Promise.reject(new Error('no')))
        const backoff = { type, delay: 86_400_000, max: 1, jitter: 1 }
        const { id } = await queues.add(queue, 'x', {}, { attempts: 100, backoff })
        await eventually('it has failed for good', async () => (await stateOf(queue, id)) === 'failed')
        const { job } = (await queues.job(queue, id ?? '')) ?? {}
        assert.deepEqual([job?.attemptsMade, job?.opts.backoff], [100, backoff])
        await consumer.close()
      })
    }

    it('wait 24 h at most for a retry without a max, after any number of attempts', async () => {
      const queue = fresh()
      const consumer = worker(queue, async () => Promise.reject(new Error('no')))
      const first = once(consumer, 'failed')
      const { id = '' } = await queues.add(queue, 'x', {}, { attempts: 100, backoff: { type: 'exponential', delay: 80_000_000 } })
      await first
      const due = async () => (await queues.job(queue, id))?.job.readyAt ?? 0
      const last = async () => (await queues.job(queue, id))?.job.processedOn ?? 0
      assert.ok((await due()) - (await last()) <= 80_060_000)
      const second = once(consumer, 'failed')
      await queues
        .queue(queue)
        .getJob(id)
        .then((job) => job?.promote())
      await second
      assert.ok((await due()) - (await last()) >= 86_400_000 && (await due()) - (await last()) < 86_460_000)
      await consumer.close()
    })

    it('wait since they were ready: retried, promoted, or released by their last child', async () => {
      const [retried, promoted, parents, children] = [fresh(), fresh(), fresh(), fresh()]
      const oldest = async (queue: string) => [(await queues.sample([queue])).get(queue)?.oldestWaiting, await queues.oldestWaiting(queue)]
      const failing = worker(retried, async () => Promise.reject(new Error('no')))
      const failed = once(failing, 'failed')
      const bad = await queues.add(retried, 'x', {})
      const delayed = await queues.add(promoted, 'x', {}, { delay: 60_000 })
      await queues.addFlow({
        name: 'parent',
        queueName: parents,
        children: [
          { name: 'a', queueName: children },
          { name: 'b', queueName: children },
        ],
      })
      await failed
      await failing.close()
      await new Promise((resolve) => setTimeout(resolve, 20))
      const before = Date.now()
      await queues.change(async () => (await queues.job(retried, bad.id ?? ''))?.job.retry('failed'))
      await queues.change(async () => (await queues.job(promoted, delayed.id ?? ''))?.job.promote())
      const working = worker(children, async () => 1)
      await eventually('the parent is released', async () => (await queues.counts(parents)).waiting === 1)
      await working.close()
      for (const queue of [retried, promoted, parents]) {
        for (const since of await oldest(queue)) assert.ok((since ?? 0) >= before && (since ?? 0) <= Date.now(), `${queue} ${since}`)
      }
    })

    it('with removeOnComplete or removeOnFail 0 are gone when they have ended', async () => {
      const queue = fresh()
      const consumer = worker(queue, async ({ name: of }) => (of === 'bad' ? Promise.reject(new Error('no')) : 1))
      const gone = { removeOnComplete: 0, removeOnFail: { count: 0 } }
      const ended = Promise.all([once(consumer, 'completed'), once(consumer, 'failed')])
      const jobs = await queues.addBulk(queue, [
        { name: 'good', options: gone },
        { name: 'bad', options: gone },
      ])
      await ended
      assert.deepEqual(await Promise.all(jobs.map(({ id }) => stateOf(queue, id))), [undefined, undefined])
      await consumer.close()
    })
  })
}
