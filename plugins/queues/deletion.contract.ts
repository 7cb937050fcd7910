import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import fc from '../../scripts/testing/properties.js'
import type { DeletedStep, JobOptions, ListedState, Queues, RestoredStep } from './index.js'
import { mostDeleted, queuesService } from './index.js'

const hour = 3_600_000

/** Test cases for deleting jobs temporarily or permanently, on both stores. */
export function deletionContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`deleted jobs on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `deletion${++number}`
    const undo = (ms = hour) => ({ batch: `batch-${++number}`, ms })
    const ids = async (queue: string, state: ListedState) =>
      (await queues.list(queue, state, { offset: 0, limit: 1_000 })).map(({ id }) => id)
    const add = async (queue: string, jobs: readonly JobOptions[]) =>
      (
        await queues.addBulk(
          queue,
          jobs.map((options, n) => ({ name: `n${n}`, data: { n }, options })),
        )
      ).map(({ id = '' }) => id)
    const sums = async (steps: AsyncIterable<DeletedStep | RestoredStep>): Promise<Readonly<Record<string, number>>> => {
      const found: Record<string, number> = {}
      for await (const step of steps) for (const [key, value] of Object.entries(step)) found[key] = (found[key] ?? 0) + value
      return found
    }
    const soon = () => Date.now() + 1_000

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

    it('are restored in each state with their position, data, options, log and result', async () => {
      const queue = fresh()
      const worker = queues.worker(queue, async (job) => {
        for (const line of ['first', 'second']) await job.log(line)
        if (job.data.n === 1) throw new Error('no luck')
        return { n: job.data.n }
      })
      await add(queue, [{}, { attempts: 1 }, {}])
      await eventually('they end', async () => (await queues.counts(queue)).completed === 2 && (await queues.counts(queue)).failed === 1)
      await worker.close()
      await add(queue, [{ priority: 7 }, {}, { priority: 3, attempts: 5 }, {}, { delay: hour }, { delay: hour / 2 }, {}])
      const states = ['waiting', 'delayed', 'completed', 'failed'] as const
      const before = await Promise.all(states.map((state) => ids(queue, state)))
      const jobs = async () => Promise.all(before.flat().map(async (id) => (await queues.job(queue, id ?? ''))?.job.asJSON()))
      const originals = await jobs()
      const counts = await queues.counts(queue)
      const one = undo()
      for (const [i, state] of states.entries()) {
        const done = await sums(queues.deleteJobs(queue, { state, before: soon() }, one))
        assert.deepEqual([done.deleted, done.restorable, done.tied], [before[i]?.length, before[i]?.length, 0], state)
        assert.deepEqual(await ids(queue, state), [])
      }
      assert.equal((await queues.deletedJobs(queue, { offset: 0, limit: 100 })).length, 10)
      const logsOf = (id = '') => queues.logs(queue, id, { offset: 0, limit: 9 })
      assert.deepEqual(await logsOf(before[3]?.[0]), { logs: [], count: 0, offset: 0, dropped: 0 })
      const [ended, failed] = await Promise.all([before[2]?.[0], before[3]?.[0]].map((id = '') => queues.deletedJob(queue, id)))
      assert.deepEqual(
        [ended?.name, ended?.data, ended?.result, ended?.error, ended?.logs],
        ['n2', { n: 2 }, { n: 2 }, null, ['first', 'second']],
      )
      assert.deepEqual([failed?.name, failed?.error, typeof failed?.finishedAt], ['n1', 'no luck', 'number'])
      assert.equal(await queues.deletedJob(queue, 'none'), undefined)
      const later = await queues.add(queue, 'later', {})
      assert.deepEqual(await sums(queues.restoreJobs(queue, one.batch)), { restored: 10, blocked: 0 })
      await later.remove()
      assert.deepEqual(await queues.counts(queue), counts)
      assert.deepEqual(await Promise.all(states.map((state) => ids(queue, state))), before)
      assert.deepEqual(await jobs(), originals)
      assert.deepEqual((await logsOf(before[3]?.[0])).logs, ['first', 'second'])
      assert.deepEqual(await queues.undoRoom(queue), mostDeleted)
      assert.deepEqual(await queues.deletedJobs(queue, { offset: 0, limit: 100 }), [])
      assert.deepEqual(await sums(queues.restoreJobs(queue, one.batch)), {})
    })

    it('wake an idle worker once they are restored, delayed ones when they are due', async () => {
      for (const delay of [0, 300]) {
        const queue = fresh()
        const [id = ''] = await add(queue, [delay === 0 ? {} : { delay }])
        const one = undo()
        assert.equal(await queues.deleteJob(queue, id, one), 'restorable')
        // Without being woken, it would look again after an hour.
        const worker = queues.worker(queue, async (job) => job.id, { drainDelay: 3_600 })
        const ran: unknown[] = []
        worker.on('completed', (job) => ran.push(job.id))
        await queues.add(queue, 'before', {}, { jobId: 'before' })
        await eventually('the worker is idle', () => ran.length === 1)
        await sums(queues.restoreJobs(queue, one.batch))
        await eventually('it runs', () => ran.length === 2)
        assert.deepEqual(ran, ['before', id])
        await worker.close()
      }
    })

    it('stay after they are restored, beyond the undo window', async () => {
      const queue = fresh()
      const [id = ''] = await add(queue, [{}])
      await (await queues.job(queue, id))?.job.log('a line')
      const one = undo(1_000)
      const until = Date.now() + 1_100
      await queues.deleteJob(queue, id, one)
      assert.deepEqual(await sums(queues.restoreJobs(queue, one.batch)), { restored: 1, blocked: 0 })
      await eventually('that time is up', () => Date.now() > until)
      assert.equal((await queues.job(queue, id))?.state, 'waiting')
      assert.equal((await queues.logs(queue, id, { offset: 0, limit: 9 })).count, 1)
    })

    it('are restored by the batch that deleted them, in their state at that time', async () => {
      const queue = fresh()
      const [, other = ''] = await add(queue, [{ jobId: 'same' }, {}])
      await (await queues.job(queue, 'same'))?.job.log('of the first')
      const [first, second] = [undo(), undo()]
      for (const id of ['same', other]) await queues.deleteJob(queue, id, first)
      await queues.add(queue, 'again', { again: true }, { jobId: 'same' })
      await queues.deleteJob(queue, 'same', second)
      const kept = await queues.deletedJobs(queue, { offset: 0, limit: 9 })
      assert.deepEqual(
        kept.filter(({ id }) => id === 'same').map(({ data }) => data),
        [{ again: true }],
        'it replaces an earlier one with its id',
      )
      assert.deepEqual(await sums(queues.restoreJobs(queue, second.batch)), { restored: 1, blocked: 0 })
      assert.deepEqual((await queues.job(queue, 'same'))?.job.data, { again: true })
      assert.equal((await queues.logs(queue, 'same', { offset: 0, limit: 9 })).count, 0)
      assert.equal(await queues.job(queue, other), undefined)
      await sums(queues.restoreJobs(queue, first.batch))
      assert.deepEqual([(await queues.job(queue, other))?.state, (await queues.job(queue, 'same'))?.job.name], ['waiting', 'again'])
    })

    it('keep the results of the children that they waited for', async () => {
      const queue = fresh()
      const worker = queues.worker(queue, async (job) => job.name)
      const { job } = await queues.addFlow({ name: 'parent', queueName: queue, children: [{ name: 'child', queueName: queue }] })
      const id = job.id ?? ''
      await eventually('the parent completes', async () => (await queues.job(queue, id))?.state === 'completed')
      await worker.close()
      const values = async () => Object.values((await (await queues.job(queue, id))?.job.getChildrenValues()) ?? {})
      assert.deepEqual(await values(), ['child'])
      const one = undo()
      assert.equal(await queues.deleteJob(queue, id, one), 'restorable')
      await sums(queues.restoreJobs(queue, one.batch))
      assert.deepEqual(await values(), ['child'])
    })

    it('are only those of the range, in any number, and the others keep their order', async () => {
      const queue = fresh()
      const all = await add(
        queue,
        Array.from({ length: 250 }, () => ({})),
      )
      const middle = Date.now()
      await eventually('time passes', () => Date.now() > middle + 2)
      const young = await add(queue, [{}, {}])
      const done = await sums(queues.deleteJobs(queue, { state: 'waiting', before: middle + 1 }))
      assert.deepEqual([done.deleted, done.restorable], [250, 0])
      assert.deepEqual(await ids(queue, 'waiting'), young)
      for (const id of all.slice(0, 3)) assert.equal(await queues.job(queue, id), undefined)
      assert.deepEqual(await sums(queues.deleteJobs(queue, { state: 'waiting', before: soon(), maxAttempts: -1 })), await nothing(queue))
    })
    const nothing = async (queue: string) =>
      // Redis looks at them, the embedded store does not have to.
      queues.backend === 'redis' ? { looked: (await queues.counts(queue)).waiting, deleted: 0, restorable: 0, tied: 0 } : {}

    it('are never running jobs, or jobs on which other jobs or a schedule depend', async () => {
      const queue = fresh()
      await queues.addFlow({ name: 'parent', queueName: queue, children: [{ name: 'child', queueName: queue, opts: { jobId: 'child' } }] })
      await queues.schedule(queue, 'yearly', { pattern: '0 0 1 1 *' }, { name: 'scheduled' })
      const [plain = ''] = await add(queue, [{}])
      const [next] = await ids(queue, 'delayed')
      const waiting = await sums(queues.deleteJobs(queue, { state: 'waiting', before: soon() }, undo()))
      assert.deepEqual([waiting.deleted, waiting.tied], [1, 1])
      assert.equal(await queues.job(queue, plain), undefined)
      const delayed = await sums(queues.deleteJobs(queue, { state: 'delayed', before: soon() }, undo()))
      assert.deepEqual([delayed.deleted, delayed.tied], [0, 1])
      for (const id of ['child', next ?? '']) assert.equal(await queues.deleteJob(queue, id, undo()), 'tied')
      assert.equal(await queues.deleteJob(queue, 'nobody', undo()), 'changed')
      let end: () => void = () => undefined
      const worker = queues.worker(queue, () => new Promise<void>((resolve) => (end = resolve)))
      await once(worker, 'active')
      assert.equal(await queues.deleteJob(queue, 'child', undo()), 'changed')
      end()
      await worker.close()
    })

    it('stay deleted while another job has their id or their deduplication id, and can be restored afterwards', async () => {
      const queue = fresh()
      await add(queue, [{ jobId: 'same' }, { jobId: 'unique', deduplication: { id: 'd' } }])
      const one = undo()
      await sums(queues.deleteJobs(queue, { state: 'waiting', before: soon() }, one))
      await add(queue, [
        { jobId: 'same', delay: hour },
        { jobId: 'other', deduplication: { id: 'd' }, delay: hour },
      ])
      assert.deepEqual(await sums(queues.restoreJobs(queue, one.batch)), { restored: 0, blocked: 2 })
      for (const id of ['same', 'other']) await (await queues.job(queue, id))?.job.remove()
      assert.deepEqual(await sums(queues.restoreJobs(queue, one.batch)), { restored: 2, blocked: 0 })
      await add(queue, [{ jobId: 'third', deduplication: { id: 'd' } }])
      assert.deepEqual(await ids(queue, 'waiting'), ['same', 'unique'])
    })

    it('are gone when they expire, and when they are purged', async () => {
      const queue = fresh()
      const [short = '', purged = ''] = await add(queue, [{}, {}])
      const [soonGone, long] = [undo(50), undo()]
      await queues.deleteJob(queue, short, soonGone)
      await queues.deleteJob(queue, purged, long)
      const room = await queues.undoRoom(queue)
      assert.deepEqual([room.jobs >= 19_998, room.bytes < 64 * 1024 * 1024], [true, true])
      assert.deepEqual(await queues.purge(queue, [purged]), { removed: [purged], running: [] })
      await eventually('its time is up', async () => (await queues.undoRoom(queue)).jobs === 20_000)
      for (const { batch } of [soonGone, long]) assert.equal((await sums(queues.restoreJobs(queue, batch))).restored ?? 0, 0)
    })

    it('never come back from a deletion or an undo that was under way when they were purged, and later jobs with their ids do', async () => {
      const turns = async (count: number): Promise<void> => {
        for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
      }
      for (let round = 0; round < 24; round++) {
        const queue = fresh()
        const all = await add(
          queue,
          Array.from({ length: 30 }, () => ({})),
        )
        const [first, second, third] = [undo(), undo(), undo()]
        await sums(queues.deleteJobs(queue, { state: 'waiting', before: soon() }, first))
        const left = await add(
          queue,
          Array.from({ length: 30 }, () => ({})),
        )
        // Each begins a number of turns of the event loop after the others, in all orders.
        const delays = [round % 4, Math.floor(round / 4) % 3, round % 5, round % 7].map((turn) => turn * 3)
        const [purged] = await Promise.all([
          turns(delays[0] ?? 0).then(() => queues.purge(queue, [...all, ...left])),
          turns(delays[1] ?? 0).then(() => sums(queues.restoreJobs(queue, first.batch))),
          turns(delays[2] ?? 0).then(() => sums(queues.deleteJobs(queue, { state: 'waiting', before: soon() }, second))),
          turns(delays[3] ?? 0).then(() => queues.deleteJob(queue, left[7] ?? '', third)),
        ])
        for (const { batch } of [first, second, third]) await sums(queues.restoreJobs(queue, batch))
        assert.deepEqual(purged.running, [])
        assert.deepEqual(await ids(queue, 'waiting'), [], `round ${round}`)
        assert.deepEqual(await queues.deletedJobs(queue, { offset: 0, limit: 100 }), [], `round ${round}`)
        assert.equal(await queues.isErased(queue, all[0] ?? '', Date.now() - 1_000), true)
      }
      const queue = fresh()
      await add(queue, [{ jobId: 'again' }])
      await queues.purge(queue, ['again'])
      await queues.add(queue, 'later', {}, { jobId: 'again', timestamp: Date.now() + 120_000 })
      assert.equal(await queues.isErased(queue, 'again', Date.now() + 120_000), false)
      const one = undo()
      assert.equal(await queues.deleteJob(queue, 'again', one), 'restorable')
      assert.equal((await sums(queues.restoreJobs(queue, one.batch))).restored, 1)
    })

    it('are purged without a later or an earlier job with their id, if the purge is asked to tell them apart', async () => {
      const queue = fresh()
      const only = ({ data }: { readonly data: unknown }) => (data as { readonly whose?: string }).whose === 'ann'
      const put = (whose: string, jobId: string) => queues.add(queue, 'x', { whose }, { jobId, delay: hour })
      const one = undo()
      const kept = async (jobId: string, first: string, second: string) => {
        await put(first, jobId)
        assert.equal(await queues.deleteJob(queue, jobId, one), 'restorable')
        await new Promise((resolve) => setTimeout(resolve, 2))
        await put(second, jobId)
      }
      await kept('deleted', 'ann', 'bob')
      await kept('stored', 'bob', 'ann')
      await put('bob', 'other')
      assert.deepEqual(await queues.purge(queue, ['deleted', 'stored', 'other', 'none'], { only }), {
        removed: ['stored', 'deleted'],
        running: [],
      })
      assert.deepEqual((await ids(queue, 'delayed')).sort(), ['deleted', 'other'])
      // Only theirs count as erased.
      const [later] = await Promise.all(['deleted', 'other'].map((id) => queues.job(queue, id)))
      assert.equal(await queues.isErased(queue, 'deleted', later?.job.timestamp ?? 0), false)
      assert.equal((await sums(queues.restoreJobs(queue, one.batch))).restored, 1)
      assert.deepEqual((await queues.job(queue, 'stored'))?.job.data, { whose: 'bob' })
      const two = undo()
      assert.equal(await queues.deleteJob(queue, 'deleted', two), 'restorable')
      assert.equal((await sums(queues.restoreJobs(queue, two.batch))).restored, 1)
    })

    it('are counted once by purges beside each other', async () => {
      for (let round = 0; round < 6; round++) {
        const queue = fresh()
        const all = await add(
          queue,
          Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? {} : { delay: hour })),
        )
        await queues.deleteJob(queue, all[3] ?? '', undo())
        const purges = [all, all.toReversed(), all].map(async (some, n) => {
          for (let turn = 0; turn < round * n * 3; turn++) await new Promise(setImmediate)
          return queues.purge(queue, some)
        })
        const counted = (await Promise.all(purges)).flatMap(({ removed }) => removed)
        assert.deepEqual([...counted].sort(), [...all].sort(), `round ${round}`)
      }
    })

    it('are not copied if they are purged at any moment of the copy, nor are schedules that are ended', async () => {
      const [from, to] = [fresh(), fresh()]
      const timing = { pattern: '0 0 1 1 *' }
      const moments = ['before', 'on write', 'after write', 'never'] as const
      for (const moment of moments) {
        const [id = ''] = await add(from, [{ delay: hour }])
        const { job } = (await queues.job(from, id)) ?? {}
        const at = async (now: (typeof moments)[number], purge: () => Promise<unknown>) => void (now === moment && (await purge()))
        const purgeJob = () => queues.purge(from, [id])
        await at('before', purgeJob)
        const copied = await queues.copy(
          { queue: from, id, addedAt: job?.timestamp ?? 0 },
          async () => {
            await at('on write', purgeJob)
            const made = await queues.add(to, 'copy', {}, { delay: hour })
            await at('after write', purgeJob)
            return made
          },
          (made) => queues.purge(to, [made.id ?? '']),
        )
        assert.deepEqual(
          [copied !== undefined, (await ids(to, 'delayed')).length],
          [moment === 'never', moment === 'never' ? 1 : 0],
          moment,
        )
        if (copied !== undefined) await queues.purge(to, [copied.id ?? ''])

        await queues.schedule(from, 'yearly', timing, { name: 'x' })
        const end = () => queues.purgeSchedule(from, 'yearly')
        await at('before', end)
        const schedules = async (queue: string) => (await queues.queue(queue).getJobSchedulers()).length
        await queues.copy(
          { queue: from, schedule: 'yearly' },
          async () => {
            if ((await schedules(from)) === 0) return
            await at('on write', end)
            await queues.schedule(to, 'yearly', timing, { name: 'x' })
            await at('after write', end)
          },
          () => queues.purgeSchedule(to, 'yearly'),
        )
        assert.equal(await schedules(to), moment === 'never' ? 1 : 0, moment)
      }
      await queues.purgeSchedule(to, 'yearly')
      await queues.purgeSchedule(from, 'yearly')
      await queues.schedule(from, 'yearly', timing, { name: 'x' })
      const again = { queue: from, schedule: 'yearly' }
      await new Promise((resolve) => setTimeout(resolve, 2))
      assert.equal(await queues.copy(again, async () => 'made', assert.fail), 'made', 'a schedule that was made again is another one')
    })

    it('are listed without expired ones', async () => {
      const queue = fresh()
      const [short = '', long = ''] = await add(queue, [{}, {}])
      await queues.deleteJob(queue, short, undo(50))
      await queues.deleteJob(queue, long, undo())
      const first = async () => (await queues.deletedJobs(queue, { offset: 0, limit: 1 })).map(({ id }) => id)
      await eventually('the expired one is no longer listed', async () => (await first())[0] === long)
      assert.equal(await queues.deletedJob(queue, short), undefined)
    })

    it('cannot be restored beyond the room of their queue', async () => {
      const queue = fresh()
      const large = 'x'.repeat(900_000)
      for (let n = 0; n < 75; n++) await queues.add(queue, 'large', { large })
      const one = undo()
      const done = await sums(queues.deleteJobs(queue, { state: 'waiting', before: soon() }, one))
      assert.equal(done.deleted, 75)
      assert.ok((done.restorable ?? 0) > 70 && (done.restorable ?? 0) < 75, String(done.restorable))
      assert.ok((await queues.undoRoom(queue)).bytes < 900_000)
      const { id = '' } = await queues.add(queue, 'large', { large })
      assert.equal(await queues.deleteJob(queue, id, undo()), 'final')
      assert.equal((await sums(queues.restoreJobs(queue, one.batch))).restored, done.restorable)
    })

    it('are restorable in the number that a count has said, whatever their sizes, over several steps', async () => {
      const queue = fresh()
      for (let n = 0; n < 70; n++) await queues.add(queue, 'filler', { text: 'x'.repeat(940_000) })
      await sums(queues.deleteJobs(queue, { state: 'waiting', before: soon() }, undo()))
      const check = async (sizes: readonly number[]): Promise<void> => {
        const added = await queues.addBulk(
          queue,
          sizes.map((size) => ({ name: 'n', data: 'x'.repeat(size) })),
        )
        const room = await queues.undoRoom(queue)
        let [jobs, bytes] = [0, 0]
        for await (const step of queues.countJobs(queue, { state: 'waiting', before: soon() }, room, { sample: 0 })) {
          jobs += step.restorable
          bytes += step.bytes
        }
        const done = await sums(queues.deleteJobs(queue, { state: 'waiting', before: soon() }, undo()))
        const left = await queues.undoRoom(queue)
        assert.deepEqual([done.deleted, done.restorable, room.bytes - left.bytes], [sizes.length, jobs, bytes])
        await queues.purge(
          queue,
          added.map(({ id = '' }) => id),
        )
      }
      const size = fc.oneof({ weight: 30, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(900_000) }, fc.nat(20_000))
      await fc.assert(fc.asyncProperty(fc.array(size, { minLength: 90, maxLength: 230 }), check), { numRuns: 12 })
      await check(Array.from({ length: 1_250 }, (_, n) => (n % 210 === 5 ? 400_000 : 0)))
    })
  })
}
