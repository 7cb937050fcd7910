import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { signal } from '../testing/signal.js'
import type { JobLab } from './testing/job-lab.js'
import type { FailedJobView } from './types.js'

/** Jobs whose process stopped renewing their lock, or lost it. */
export function describeLostLocks(lab: JobLab): void {
  describe('without their lock', () => {
    /** Makes the lock expire now, as if it had not been renewed. */
    const drop = (job: Job, token: string | undefined) => job.extendLock(token ?? '', 1)

    it('abort the attempt that lost it, discard its outcome, and are counted once as lost', async () => {
      lab.jobLockMs = 300
      const reason = signal<unknown>()
      const second = signal()
      const told: unknown[] = []
      const first = lab.work(async (job, token, aborted) => {
        await drop(job, token)
        aborted?.addEventListener('abort', () => reason.fire(aborted.reason))
        await second.promise
        return 'first'
      })
      for (const end of [first.completed(), first.failed()]) void end.then((outcome) => told.push(outcome))
      const started = first.started()
      const { id } = await lab.jobs().add(lab.record, null, {})
      await started
      const other = lab.work(() => 'second')
      const done = other.completed()
      assert.equal(((await reason.promise) as { code?: string }).code, 'JOB_LOCK_LOST')
      assert.equal((await done)[1], 'second')
      second.fire()
      await first.close()
      assert.deepEqual(told, [])
      const job = await lab.jobs().read(lab.record, id)
      assert.deepEqual([job.status, job.result, job.stalls, job.attempts], ['completed', 'second', 1, 1])
      assert.deepEqual(lab.counted(), [{ version: '1.0.0', completed: 1, failed: 1, lost: 1 }])
    })

    it('do not complete when their processor returns, and fail permanently when that happens too often', async () => {
      lab.jobLockMs = 300
      lab.maxStalls = 1
      let runs = 0
      const failures: FailedJobView[] = []
      const worker = lab.work(async (job, token) => {
        runs++
        await drop(job, token)
        await new Promise((resolve) => setTimeout(resolve, 5))
        return 'done'
      })
      const end = worker.failed()
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 5 })
      failures.push((await end)[0])
      const job = await lab.jobs().read(lab.record, id)
      assert.deepEqual([job.status, runs, job.stalls, job.result], ['failed', 2, 2, null])
      assert.match(job.error ?? '', /stalled more than/)
      assert.deepEqual(
        failures.map(({ attempt, maxAttempts, final }) => [attempt, maxAttempts, final]),
        [[1, 5, true]],
      )
      assert.deepEqual(lab.counted(), [{ version: '1.0.0', failed: 2, lost: 2 }])
    })

    it('fail permanently when that happens too often to a run of a schedule, which goes on', async () => {
      lab.jobLockMs = 300
      lab.maxStalls = 1
      let runs = 0
      const worker = lab.work(async (job, token) => {
        runs++
        await drop(job, token)
        await new Promise((resolve) => setTimeout(resolve, 5))
      })
      const end = worker.failed()
      await lab.jobs().schedule(lab.record, 'poison', { every: 86_400_000 })
      const [{ id }, error] = await end
      const job = await lab.jobs().read(lab.record, id)
      assert.deepEqual([job.status, runs, job.stalls], ['failed', 2, 2])
      assert.match(error.message, /stalled more than/)
      assert.notEqual((await lab.jobs().schedules(lab.record))[0]?.nextAt, null)
      assert.equal((await lab.store.counts(lab.queue)).delayed, 1)
    })

    it('may lose it again as often when they were retried by hand', async () => {
      lab.jobLockMs = 300
      lab.maxStalls = 1
      let runs = 0
      const worker = lab.work(async (job, token) => {
        if (++runs > 3) return 'done'
        await drop(job, token)
        await new Promise((resolve) => setTimeout(resolve, 5))
        return 'lost'
      })
      const [failed, completed] = [worker.failed(), worker.completed()]
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 1 })
      await failed
      assert.deepEqual([runs, (await lab.store.retry(lab.queue, id)).jobs?.length], [2, 1])
      assert.equal((await completed)[1], 'done')
      const job = await lab.jobs().read(lab.record, id)
      assert.deepEqual([job.status, runs, job.stalls], ['completed', 4, 1])
    })
  })
}
