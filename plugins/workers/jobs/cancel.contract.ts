import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { signal } from '../testing/signal.js'
import { stopReason } from './cancel-reason.js'
import { type JobLab, listening } from './testing/job-lab.js'

/** Jobs that somebody cancels. */
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

    it('fail for good when they run here and listen, and count neither way', async () => {
      const worker = lab.work(listening)
      const active = once(worker, 'active')
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 5 })
      await active
      const end = lab.failed(worker)
      assert.equal(await lab.jobs().cancel(lab.record, id, 'asked by Ann'), 'cancelled')
      await end
      const job = await lab.jobs().read(lab.record, id)
      assert.deepEqual([job.status, job.error], ['failed', 'Cancelled: asked by Ann'])
      assert.deepEqual(lab.counted(), [])
      await assert.rejects(lab.jobs().cancel(lab.record, id, 'again'), { code: 'JOB_FINISHED', status: 409, message: /failed already/ })
    })

    it('are left to the process that runs them, and are orphaned when none says so', async () => {
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
      const done = lab.completed(foreign)
      const late = lab.jobs().cancel(lab.record, id, 'no')
      await done
      await late.catch((error) => assert.equal(error.code, 'JOB_FINISHED'))
      await foreign.close()
      await assert.rejects(lab.jobs().cancel(lab.record, id, 'no'), { code: 'JOB_FINISHED', message: /completed already/ })
    })

    it('are not found under ids that are no jobs', async () => {
      await lab.jobs().add(lab.record, null, { delay: 1000 })
      for (const id of ['', 'wait', 'meta', 'id', 'events', 'delayed', 'marker', '1:lock', 'a\0b', '../1', 'x'.repeat(500), '0', '-1']) {
        await assert.rejects(lab.jobs().read(lab.record, id), { code: 'JOB_NOT_FOUND' }, JSON.stringify(id))
        await assert.rejects(lab.jobs().cancel(lab.record, id, 'no'), { code: 'JOB_NOT_FOUND' }, JSON.stringify(id))
      }
      assert.equal((await lab.jobs().counts(lab.record)).delayed, 1)
    })

    it('are put back without loss of an attempt when the stop of their worker aborts them', async () => {
      const worker = lab.work(listening)
      const active = once(worker, 'active')
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 1, priority: 'High' })
      await active
      await worker.pause(true)
      lab.runningIn(worker).cancelAll(stopReason)
      await worker.close()
      const back = await lab.jobs().read(lab.record, id)
      assert.deepEqual([back.status, back.attempts, back.priority], ['waiting', 0, 5])
      assert.deepEqual(lab.counted(), [])
      const again = lab.work(() => 'second run')
      assert.equal((await lab.completed(again))[1], 'second run')
    })

    it('end the attempt of a processor that throws what is no error or what no store keeps', async () => {
      const thrown: Readonly<Record<string, unknown>> = { text: 'just text', nothing: undefined, nul: new Error('a\0b') }
      const worker = lab.work((job) => Promise.reject(thrown[job.name]))
      for (const [name, text] of [
        ['text', 'just text'],
        ['nothing', 'undefined'],
        ['nul', 'a\uFFFDb'],
      ] as const) {
        const end = lab.failed(worker)
        const { id } = await lab.jobs().add(lab.record, null, { name })
        await end
        assert.equal((await lab.jobs().read(lab.record, id)).error, text)
      }
    })
  })
}
