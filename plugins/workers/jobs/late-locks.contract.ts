import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { eventually } from '../../../scripts/testing/eventually.js'
import type { JobLab } from './testing/job-lab.js'

/** The step of BullMQ's worker that returns what it has fetched. */
interface Fetching {
  nextJobFromJobData(data: unknown, id: string | undefined, token: string): Promise<object | undefined>
}

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

    // BullMQ holds a fetched job back while it fetches the next one: for as long as a store does not answer. The reply itself may be late, too.
    for (const [what, others, expected] of [
      ['once, if nobody else has taken them', 0, ['late']],
      ['elsewhere only, if another worker has taken them', 1, ['other']],
    ] as const)
      for (const [which, isReplyLate] of [
        ['and whose start comes later', false],
        ['and whose fetch is answered later', true],
      ] as const) {
        it(`${which} than that run ${what}`, async () => {
          const { store, queue } = lab
          const ran: string[] = []
          const options = { lockDuration: 400, stalledInterval: 200, maxStalledCount: 3, autorun: false }
          const late = store.worker(queue, async () => void ran.push('late'), options)
          const fetching = late as unknown as Fetching
          const { nextJobFromJobData } = fetching
          let start = (): void => undefined
          const held = new Promise<void>((resolve) => void (start = resolve))
          const fetched = new Promise<void>((resolve) => {
            fetching.nextJobFromJobData = async (data, id, token) => {
              if (isReplyLate && data) {
                resolve()
                await held
              }
              const job = await nextJobFromJobData.call(late, data, id, token)
              if (job === undefined) return undefined
              resolve()
              await held
              return job
            }
          })
          void late.run()
          const { id } = await lab.jobs().add(lab.record, null, {})
          await fetched
          const other = store.worker(queue, async () => void ran.push('other'), options)
          if (others > 0) {
            const done = once(other, 'completed')
            void other.run()
            await done
          } else await wait(400)
          start()
          await eventually('the job has ended', async () => (await lab.jobs().read(lab.record, id)).status === 'completed')
          await Promise.all([late.close(), other.close()])
          assert.deepEqual(ran, expected)
        })
      }
  })
}
