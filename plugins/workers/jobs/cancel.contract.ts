import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { signal } from '../testing/signal.js'
import { fakeHooks } from './testing/fake-hooks.js'
import { type JobLab, listening } from './testing/job-lab.js'

/** Cancelled jobs. */
export function describeCancel(lab: JobLab): void {
  describe('cancelled', () => {
    it('are removed while they wait or are delayed', async () => {
      for (const options of [{}, { delay: 60_000 }]) {
        const { id } = await lab.jobs().add(lab.record, null, options)
        assert.equal(await lab.jobs().cancel(lab.record, id, 'no'), 'removed')
        await assert.rejects(lab.jobs().read(lab.record, id), { code: 'JOB_NOT_FOUND', status: 404 })
        await assert.rejects(lab.jobs().cancel(lab.record, id, 'no'), { code: 'JOB_NOT_FOUND', status: 404 })
      }
      assert.deepEqual(lab.asked, [])
    })

    it('fail permanently when they run here and listen to their signal, and are counted as cancelled only', async () => {
      const worker = lab.work(listening)
      const active = worker.started()
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 5 })
      await active
      const end = worker.failed()
      assert.equal(await lab.jobs().cancel(lab.record, id, 'asked by Ann'), 'cancelled')
      await end
      const job = await lab.jobs().read(lab.record, id)
      assert.deepEqual([job.status, job.error], ['failed', 'Cancelled: asked by Ann'])
      assert.deepEqual(lab.counted(), [{ version: '1.0.0', cancelled: 1 }])
      await assert.rejects(lab.jobs().cancel(lab.record, id, 'again'), { code: 'JOB_FINISHED', status: 409, message: /already failed/ })
    })

    it('are left to the node that runs them, and are orphaned when no node reports that it does', async () => {
      const release = signal()
      const foreign = lab.store.worker(lab.queue, async () => release.promise, { autorun: true })
      const active = once(foreign, 'active')
      const { id } = await lab.jobs().add(lab.record, null, {})
      await active
      assert.equal(await lab.jobs().cancel(lab.record, id, 'no'), 'orphaned')
      assert.deepEqual(lab.asked, [{ queue: lab.queue, job: id, reason: 'Cancelled: no' }])
      lab.elsewhere = () => true
      assert.equal(await lab.jobs().cancel(lab.record, id, 'no'), 'cancelled')
      lab.elsewhere = () => {
        release.fire()
        return false
      }
      const done = once(foreign, 'completed')
      const late = lab.jobs().cancel(lab.record, id, 'no')
      await done
      await late.catch((error) => assert.equal(error.code, 'JOB_FINISHED'))
      await foreign.close()
      await assert.rejects(lab.jobs().cancel(lab.record, id, 'no'), { code: 'JOB_FINISHED', message: /already completed/ })
    })

    it('are not run again when the process that ran them was unreachable', async () => {
      const release = signal()
      let runs = 0
      const foreign = lab.store.worker(lab.queue, () => (runs++, release.promise.then(() => Promise.reject(new Error('died')))))
      const active = once(foreign, 'active')
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 5, backoff: { type: 'fixed', delay: 1 } })
      await active
      assert.equal(await lab.jobs().cancel(lab.record, id, 'no'), 'orphaned')
      // Either worker may take it next.
      lab.work(() => ++runs)
      release.fire()
      for (;;) {
        const { status, error } = await lab.jobs().read(lab.record, id)
        assert.notEqual(status, 'completed')
        if (status === 'failed') {
          assert.equal(error, 'Cancelled: no')
          break
        }
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await foreign.close()
      assert.deepEqual([runs, lab.counted()], [1, []])
    })

    it('are not found under unknown ids', async () => {
      await lab.jobs().add(lab.record, null, { delay: 1000 })
      for (const id of ['', 'wait', 'meta', 'id', 'events', 'delayed', 'marker', '1:lock', 'a\0b', '../1', 'x'.repeat(500), '0', '-1']) {
        await assert.rejects(lab.jobs().read(lab.record, id), { code: 'JOB_NOT_FOUND' }, JSON.stringify(id))
        await assert.rejects(lab.jobs().cancel(lab.record, id, 'no'), { code: 'JOB_NOT_FOUND' }, JSON.stringify(id))
      }
      assert.equal((await lab.jobs().counts(lab.record)).delayed, 1)
    })

    it('are released without using up an attempt when a stop of their worker aborts them', async () => {
      const worker = lab.work(listening)
      const active = worker.started()
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 1, priority: 'High' })
      await active
      await worker.close({ drainMs: 0, cancelMs: 5_000 })
      const back = await lab.jobs().read(lab.record, id)
      assert.deepEqual([back.status, back.attempts, back.priority], ['waiting', 0, 5])
      assert.deepEqual(lab.counted(), [])
      const again = lab.work(() => 'second run')
      assert.equal((await again.completed())[1], 'second run')
    })

    it('end the attempt of a processor that throws a value that is no error or cannot be stored', async () => {
      const thrown: Readonly<Record<string, unknown>> = {
        text: 'just text',
        nothing: undefined,
        nul: new Error('a\0b'),
        alike: { message: 'only alike' },
      }
      const worker = lab.work((job) => Promise.reject(thrown[job.name]))
      for (const [name, text] of [
        ['text', 'just text'],
        ['nothing', 'undefined'],
        ['nul', 'a\uFFFDb'],
        ['alike', 'only alike'],
      ] as const) {
        const end = worker.failed()
        const { id } = await lab.jobs().add(lab.record, null, { name })
        await end
        assert.equal((await lab.jobs().read(lab.record, id)).error, text)
      }
    })

    it('store and log only the beginning of long texts', async () => {
      const cause = Object.assign(new Error('c'.repeat(1e6)), { response: 'r'.repeat(1e6) })
      const worker = lab.work(() => Promise.reject(Object.assign(new Error('m'.repeat(2e6), { cause }), { body: 'b'.repeat(1e6) })))
      const end = worker.failed()
      const { id } = await lab.jobs().add(lab.record, null, {})
      const [, error] = await end
      const stored = await lab.store.queue(lab.queue).getJob(id)
      for (const [text, most] of [
        [error.message, 8 * 1024],
        [stored?.failedReason ?? '', 8 * 1024],
        [stored?.stacktrace?.join('') ?? '', 32 * 1024],
        [lab.logs.text(), 96 * 1024],
      ] as const) {
        assert.ok(text.length > 1024 && text.length < most + 100, `${text.length} characters`)
      }
      assert.match(stored?.failedReason ?? '', /^m+… \(1991808 more characters\)$/)
    })

    it('report whether a failed attempt was the last one', async () => {
      const told: unknown[] = []
      lab.hooks = fakeHooks({
        onJobFailed: (_worker, { name, attempt, maxAttempts, final }) => void told.push([name, attempt, maxAttempts, final]),
      })
      const given = Object.assign(new Error('no use'), { name: 'UnrecoverableError' })
      const worker = lab.work((job) => Promise.reject(job.name === 'given-up' ? given : new Error('no luck')))
      for (const [name, attempts, failures] of [
        ['tried', 2, 2],
        ['given-up', 3, 1],
      ] as const) {
        const end = worker.times('failed', failures)
        await lab.jobs().add(lab.record, null, { name, attempts, backoff: { type: 'fixed', delay: 1 } })
        await end
      }
      assert.deepEqual(told, [
        ['tried', 1, 2, false],
        ['tried', 2, 2, true],
        ['given-up', 1, 3, true],
      ])
    })
  })
}
