import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { JobLab } from './testing/job-lab.js'

/** Jobs whose code blocks its process for longer than their lock. */
export function describeLateLocks(lab: JobLab): void {
  describe('whose code blocks longer than their lock', () => {
    const block = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

    for (const [what, before, after] of [
      ['at once', 0, 0],
      ['after a while', 50, 0],
      ['and go on afterwards', 0, 700],
    ] as const) {
      it(`run once, ${what}`, async () => {
        lab.jobLockMs = 200
        let runs = 0
        const worker = lab.work(async () => {
          runs++
          if (before > 0) await wait(before)
          block(700)
          if (after > 0) await wait(after)
          return 'done'
        })
        const { id } = await lab.jobs().add(lab.record, null, {})
        assert.equal((await worker.completed())[1], 'done')
        // Time for two checks for stalled jobs.
        await wait(450)
        const job = await lab.jobs().read(lab.record, id)
        assert.deepEqual([runs, job.status, job.attempts, job.stalls], [1, 'completed', 1, 0])
      })
    }

    it('fail once if they fail then', async () => {
      lab.jobLockMs = 200
      const worker = lab.work(async () => {
        block(700)
        throw new Error('no')
      })
      const { id } = await lab.jobs().add(lab.record, null, {})
      await worker.failed()
      const job = await lab.jobs().read(lab.record, id)
      assert.deepEqual([job.status, job.error, job.attempts, job.stalls], ['failed', 'no', 1, 0])
    })
  })
}
