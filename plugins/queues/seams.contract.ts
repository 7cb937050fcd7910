import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { KeepJobError, type QueueEvent, type Queues, queuesService } from './index.js'

/** What other plugins build on, on both stores, through the service of a booted host. */
export function seamsContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`the extension points of queues on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (prefix = 's'): string => `${prefix}${++number}`
    const sealed = (queue: string): boolean => queue.startsWith('sealed')
    let turn = ''
    const seal = (value: unknown) => ({ ...(turn && { turn }), sealed: Buffer.from(JSON.stringify(value ?? null)).toString('base64') })
    const unseal = (value: unknown): unknown => JSON.parse(Buffer.from((value as { sealed: string }).sealed, 'base64').toString())

    before(async () => {
      const options = await makeOptions()
      host = await createTestHost({
        ...options,
        hooks: {
          transformJobData: (data, queue) => (sealed(queue) ? seal(data) : undefined),
          restoreJobData(data, queue) {
            if (queue.startsWith('kept')) throw new KeepJobError('the key "k2" is not configured')
            return sealed(queue) ? unseal(data) : undefined
          },
          transformJobResult: (result, queue) => (sealed(queue) ? seal(result) : undefined),
          restoreJobResult: (result, queue) => (sealed(queue) ? unseal(result) : undefined),
          transformJobText: (text, queue, part) => (sealed(queue) ? `${part}:${Buffer.from(text).toString('base64')}` : undefined),
          restoreJobText(text, queue, part) {
            if (!sealed(queue)) return undefined
            assert.ok(text.startsWith(`${part}:`))
            return Buffer.from(text.slice(part.length + 1), 'base64').toString()
          },
          beforeJobsAdd: (jobs, queue, { schedule }) =>
            queue.startsWith('renamed') ? jobs.map((job) => ({ ...job, name: `${job.name}, ${schedule ?? 'once'}` })) : undefined,
        },
      })
      queues = host.service(queuesService)
    })
    after(() => host.stop())

    it('pass payloads through the hooks for every way to add a job, and return the originals to processors and readers', async () => {
      const queue = fresh('sealed')
      const seen: unknown[] = []
      const single = await queues.add(queue, 'single', { n: 1 })
      const [bulk] = await queues.addBulk(queue, [{ name: 'bulk', data: { n: 2 } }, { name: 'empty' }])
      const flow = await queues.addFlow({
        name: 'flow',
        queueName: queue,
        data: { n: 3 },
        children: [{ name: 'child', queueName: queue, data: { n: 4 } }],
      })
      const scheduled = await queues.schedule(queue, 'hourly', { every: 3_600_000 }, { name: 'scheduled', data: { n: 5 } })
      for (const [job, n] of [
        [single, 1],
        [bulk, 2],
        [flow.job, 3],
        [flow.children?.[0]?.job, 4],
        [scheduled, 5],
      ] as const) {
        const stored = (await queues.job(queue, job?.id ?? ''))?.job ?? assert.fail('it is stored')
        assert.deepEqual([stored.data, await queues.restoredData(stored)], [seal({ n }), { n }])
      }
      const worker = queues.worker(queue, async (job) => {
        seen.push(job.data.n)
        if (job.name === 'flow') return Object.values(await job.getChildrenValues())
        return { twice: job.data.n * 2 }
      })
      const parent = new Promise((resolve) => worker.on('completed', (job) => job.name === 'flow' && resolve(job)))
      await parent
      for (const n of [1, 2, 3, 4]) assert.ok(seen.includes(n))
      const done = (await queues.job(queue, flow.job.id ?? ''))?.job ?? assert.fail('it is kept')
      assert.deepEqual([done.returnvalue, await queues.restoredResult(done)], [seal([{ twice: 8 }]), [{ twice: 8 }]])
      await worker.close()
    })

    it('pass errors, stacks, logs and progress through the hooks, and return the originals to all who read them', async () => {
      const queue = fresh('sealed')
      const worker = queues.worker(queue, async (job) => {
        await job.log('secret line')
        await job.updateProgress({ secret: 'step' })
        if (job.name === 'fails') throw new TypeError('secret error')
        return 'secret result'
      })
      const failing = once(worker, 'failed')
      const failed = await queues.add(queue, 'fails', {})
      const [job, error] = await failing
      assert.deepEqual([error.name, error.message, job.failedReason], ['TypeError', 'secret error', 'secret error'])
      assert.match(job.stacktrace[0], /secret error/)
      const raw = await queues.queue(queue).getJob(failed.id ?? '')
      assert.match(raw?.failedReason ?? '', /^error:/)
      assert.doesNotMatch(JSON.stringify(raw), /secret|wrong/)
      assert.doesNotMatch(JSON.stringify(await queues.queue(queue).getJobLogs(failed.id ?? '')), /secret/)
      const [read, listed] = [
        (await queues.job(queue, failed.id ?? ''))?.job,
        (await queues.list(queue, 'failed', { offset: 0, limit: 1 }))[0],
      ]
      for (const one of [read, listed]) {
        assert.deepEqual([one?.failedReason, one?.progress], ['secret error', { secret: 'step' }])
        assert.match(one?.stacktrace?.[0] ?? '', /secret error/)
      }
      const whole = { count: 1, offset: 0, dropped: 0 }
      assert.deepEqual(await queues.logs(queue, failed.id ?? '', { offset: 0, limit: 9 }), { ...whole, logs: ['secret line'] })
      assert.deepEqual(await queues.logs(queue, failed.id ?? '', { offset: 0, limit: 0 }), { ...whole, logs: [] })
      const events = queues.events(queue)
      await events.waitUntilReady()
      const completing = once(worker, 'completed')
      const done = await queues.add(queue, 'completes', {})
      await completing
      assert.equal(await done.waitUntilFinished(events), 'secret result')
      await assert.rejects(read?.waitUntilFinished(events) ?? Promise.resolve(), { message: 'secret error' })
      for await (const event of await queues.follow(queue, { after: '0' })) {
        assert.doesNotMatch(JSON.stringify(event), /secret/)
        if (event.event === 'completed') break
      }
      await worker.close()
    })

    it('keep a job whose payload cannot be read on this node, without using an attempt', async () => {
      const queue = fresh('kept')
      const worker = queues.worker(queue, () => assert.fail('it must not run'))
      const { id = '' } = await queues.add(queue, 'x', { unreadable: true })
      await eventually('it is put off', async () => (await queues.job(queue, id))?.state === 'delayed')
      assert.equal((await queues.job(queue, id))?.job.attemptsMade, 0)
      await worker.close()
    })

    it('let a listener change the options of jobs, for every way to add them', async () => {
      const queue = fresh('renamed')
      const flow = await queues.addFlow({ name: 'c', queueName: queue, children: [{ name: 'd', queueName: queue }] })
      const names = [
        (await queues.add(queue, 'a', {})).name,
        ...(await queues.addBulk(queue, [{ name: 'b' }])).map((job) => job.name),
        flow.job.name,
        flow.children?.[0]?.job.name,
        (await queues.schedule(queue, 'hourly', { every: 3_600_000 }, { name: 'e' }))?.name,
      ]
      assert.deepEqual(names, ['a, once', 'b, once', 'c, once', 'd, once', 'e, hourly'])
    })

    it('rewrite what is stored of a job that is not running, and only the selected parts', async () => {
      const queue = fresh('sealed')
      const { id = '' } = await queues.add(queue, 'x', { n: 1 }, { delay: 60_000 })
      assert.equal(await queues.rewrite(queue, id, { only: () => false }), 'unchanged')
      assert.equal(await queues.rewrite(queue, 'nobody'), 'unknown')
      await queues
        .queue(queue)
        .getJob(id)
        .then((job) => job?.log('a line'))
      await queues.schedule(queue, 'hourly', { every: 3_600_000 }, { name: 'e', data: { n: 2 } })
      turn = 'again'
      assert.equal(await queues.rewrite(queue, id), 'rewritten')
      assert.equal(await queues.rewrite(queue, 'hourly', { kind: 'schedule' }), 'rewritten')
      turn = ''
      const stored = (await queues.job(queue, id))?.job ?? assert.fail('it is kept')
      assert.deepEqual([stored.data.turn, await queues.restoredData(stored)], ['again', { n: 1 }])
      const { template } = (await queues.queue(queue).getJobScheduler('hourly')) ?? {}
      assert.deepEqual((template?.data as { turn?: string } | undefined)?.turn, 'again')
      assert.equal((await queues.job(queue, id))?.state, 'delayed')
    })

    it('purge jobs in any state but running, with their events and without leaving their parents waiting', async () => {
      const queue = fresh()
      const events = async (): Promise<string> => {
        const found: QueueEvent[] = []
        const end = await queues.add(queue, 'end', {}, { delay: 60_000 })
        for await (const event of await queues.follow(queue, { after: '0' })) {
          found.push(event)
          if (event.jobId === end.id) break
        }
        return JSON.stringify(found)
      }
      let end: () => void = () => undefined
      const worker = queues.worker(queue, async (job) => {
        if (job.name === 'runs') await new Promise<void>((resolve) => (end = resolve))
        if (job.name === 'fails') throw new Error('a marker in an error')
        return 'a marker in a result'
      })
      const ended = (name: string) => new Promise<void>((resolve) => worker.on(name as 'closed', () => resolve()))
      await Promise.all([ended('completed'), queues.add(queue, 'completes', {}, { jobId: 'job-completed' })])
      await Promise.all([ended('failed'), queues.add(queue, 'fails', {}, { jobId: 'job-failed' })])
      await Promise.all([ended('active'), queues.add(queue, 'runs', {}, { jobId: 'job-running' })])
      await queues.add(queue, 'later', {}, { jobId: 'job-delayed', delay: 60_000 })
      await queues.schedule(queue, 'yearly', { pattern: '0 0 1 1 *' }, { name: 'scheduled' })
      const [next] = (await queues.list(queue, 'delayed', { offset: 0, limit: 9 })).filter(({ name }) => name === 'scheduled')
      const flow = await queues.addFlow({
        name: 'parent',
        queueName: fresh(),
        children: [{ name: 'child', queueName: queue, opts: { jobId: 'job-child', delay: 60_000, failParentOnFailure: true } }],
      })
      assert.match(await events(), /a marker in a result.*a marker in an error/)
      const ids = ['job-completed', 'job-failed', 'job-running', 'job-delayed', next?.id ?? '', 'job-child', 'nobody']
      assert.deepEqual(await queues.purge(queue, ids), {
        removed: ids.filter((id) => !['job-running', 'nobody'].includes(id)),
        running: ['job-running'],
      })
      for (const id of ids)
        assert.equal(await queues.job(queue, id).then((found) => found?.state), id === 'job-running' ? 'active' : undefined)
      assert.equal((await queues.queue(queue).getJobSchedulers()).length, 0)
      assert.notEqual((await queues.job(flow.job.queueName, flow.job.id ?? ''))?.state, 'waiting-children')
      assert.doesNotMatch(await events(), /marker/)
      await queues.scrub()
      end()
      await worker.close()
    })

    it('purge running jobs whose process no longer holds them, if asked to, and refuse what it reports about them later', async () => {
      const queue = fresh()
      const of = (options: object = {}) => queues.add(queue, 'x', { marker: 'lost' }, options)
      const flow = await queues.addFlow({
        name: 'parent',
        queueName: fresh(),
        children: [{ name: 'child', queueName: queue, opts: { jobId: 'child', failParentOnFailure: true } }],
      })
      for (const options of [{ jobId: 'plain' }, { jobId: 'urgent', priority: 3 }, { jobId: 'only', deduplication: { id: 'd' } }])
        await of(options)
      await queues.schedule(queue, 'yearly', { every: 31_536_000_000 }, { name: 'x' })
      const worker = queues.worker(queue, async () => undefined, { autorun: false, lockDuration: 1_500 })
      // As a process that is killed: it takes jobs, and does not renew their locks.
      const taken: Job[] = []
      for (let job = await worker.getNextJob('t', { block: false }); job; job = await worker.getNextJob('t', { block: false }))
        taken.push(job as Job)
      const ids = taken.map(({ id = '' }) => id)
      assert.deepEqual([ids.length, ids.includes('child')], [5, true])
      const [held] = taken.filter(({ id }) => id === 'plain')
      await held?.extendLock('t', 600_000)
      const lost = ids.filter((id) => id !== 'plain')
      await eventually('the locks end', async () => (await queues.unlocked(queue, ids)).length === lost.length)
      assert.deepEqual((await queues.unlocked(queue, [...ids, 'nobody'])).toSorted(), lost.toSorted())
      assert.deepEqual(await queues.purge(queue, ids), { removed: [], running: ids })
      const { removed, running } = await queues.purge(queue, ids, { unlocked: true })
      assert.deepEqual([removed.toSorted(), running], [lost.toSorted(), ['plain']])
      for (const job of taken.filter(({ id }) => id !== 'plain')) {
        await assert.rejects(job.moveToCompleted('a late marker', 't', false))
        await assert.rejects(job.moveToFailed(new Error('a late marker'), 't', false))
        await assert.rejects(job.updateProgress({ late: 'marker' }))
        assert.equal(await queues.job(queue, job.id ?? ''), undefined)
      }
      assert.notEqual((await queues.job(flow.job.queueName, flow.job.id ?? ''))?.state, 'waiting-children')
      assert.deepEqual(await queues.purge(queue, ids, { unlocked: true }), { removed: [], running: ['plain'] })
      assert.equal((await queues.counts(queue)).waiting, 0)
      await held?.moveToCompleted('done', 't', false)
      await worker.close()
    })

    it('permanently fail a job whose payload cannot be restored, before its processor receives it', async () => {
      const queue = fresh('sealed')
      await queues.queue(queue).add('foreign', 'not sealed', { attempts: 3 })
      const worker = queues.worker(queue, () => assert.fail('it must not run'))
      const [job, error] = await once(worker, 'failed')
      assert.match(error.message, new RegExp(`data of a job in queue "${queue}" cannot be restored`))
      assert.ok(job.finishedOn)
      await worker.close()
    })

    it('count many queues at once with the same results as one by one', async () => {
      const [one, two, none] = [fresh(), fresh(), fresh()]
      await queues.addBulk(one, [{ name: 'a' }, { name: 'b', options: { priority: 3 } }, { name: 'c', options: { delay: 60_000 } }])
      await queues.add(two, 'x', {})
      await queues.queue(two).pause()
      const counts = await queues.countsOf([one, two, none, one])
      assert.deepEqual([...counts.keys()], [one, two, none])
      assert.deepEqual(
        [one, two, none].map((queue) => [counts.get(queue)?.waiting, counts.get(queue)?.delayed]),
        [
          [2, 1],
          [1, 0],
          [0, 0],
        ],
      )
      for (const queue of [one, two]) assert.deepEqual(counts.get(queue), await queues.counts(queue))
      assert.equal((await queues.countsOf([])).size, 0)
      await assert.rejects(queues.countsOf(['a:b']), { code: 'QUEUE_INVALID_NAME' })
    })

    it('find a job with its state, and nothing under unknown ids', async () => {
      const queue = fresh()
      const { id = '' } = await queues.add(queue, 'x', {}, { delay: 60_000 })
      const found = await queues.job(queue, id)
      assert.deepEqual([found?.job.id, found?.state], [id, 'delayed'])
      for (const none of ['nobody', '', 'a\0b', 'x'.repeat(300)]) assert.equal(await queues.job(queue, none), undefined)
    })

    it('cancel a job that is waiting, running here, running elsewhere or finished', async () => {
      const queue = fresh()
      const waiting = await queues.add(queue, 'x', {})
      assert.equal((await queues.cancel(queue, waiting.id ?? '', 'no')).outcome, 'removed')
      assert.equal((await queues.cancel(queue, waiting.id ?? '', 'no')).outcome, 'unknown')
      const scheduled = await queues.schedule(queue, 'later', { every: 3_600_000 }, { name: 'x' })
      const [first] = await once(
        queues.worker(queue, async () => undefined).on('completed', (_job) => undefined),
        'completed',
      )
      assert.equal((await queues.cancel(queue, first.id, 'no')).outcome, 'finished')
      assert.ok(scheduled)
      const { jobs: next } = { jobs: await queues.list(queue, 'delayed', { offset: 0, limit: 1 }) }
      assert.equal((await queues.cancel(queue, next[0]?.id ?? '', 'no')).outcome, 'scheduled')

      const listens = fresh()
      const worker = queues.worker(
        listens,
        (_job, _token, signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
      )
      const active = once(worker, 'active')
      const here = await queues.add(listens, 'x', {}, { attempts: 3 })
      await active
      const failed = once(worker, 'failed')
      assert.equal((await queues.cancel(listens, here.id ?? '', 'no')).outcome, 'cancelled')
      await failed

      const deaf = fresh()
      let end: () => void = () => undefined
      const other = queues.worker(deaf, () => new Promise<void>((resolve) => (end = resolve)))
      const running = once(other, 'active')
      const elsewhere = await queues.add(deaf, 'x', {})
      await running
      const asked: unknown[] = []
      let runsThere = true
      const withdraw = queues.addCanceller({ here: () => false, elsewhere: async (request) => (asked.push(request), runsThere) })
      assert.equal((await queues.cancel(deaf, elsewhere.id ?? '', 'no')).outcome, 'cancelled')
      assert.deepEqual(asked, [{ queue: deaf, job: elsewhere.id, reason: 'Cancelled: no' }])
      runsThere = false
      assert.equal((await queues.cancel(deaf, elsewhere.id ?? '', 'no')).outcome, 'orphaned')
      withdraw()
      assert.equal((await queues.cancel(deaf, elsewhere.id ?? '', 'no')).outcome, 'orphaned')
      assert.equal(asked.length, 2)
      end()
      await Promise.all([worker.close(), other.close()])
    })
  })
}
