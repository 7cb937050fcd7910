import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JobLab } from './testing/job-lab.js'

/** What jobs give back, and what listeners do to it and to their data. */
export function describeResults(lab: JobLab): void {
  describe('with a result', () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    for (const [what, result] of [
      ['that contains itself', circular],
      ['with a BigInt', { n: 1n }],
      ['whose toJSON throws', { toJSON: () => assert.fail('not today') }],
      ['with the character NUL', ['a\0b']],
      ['with a lone surrogate', { text: 'half \ud800' }],
      ['with a lone surrogate in a key', { '\udfff': 1 }],
    ] as const) {
      it(`${what} fail permanently at once, with the reason`, async () => {
        let runs = 0
        const worker = lab.work(() => (runs++, result))
        const end = worker.failed()
        const { id } = await lab.jobs().add(lab.record, null, { attempts: 3, backoff: { type: 'fixed', delay: 1 } })
        await end
        const job = await lab.jobs().read(lab.record, id)
        assert.deepEqual([job.status, job.result, runs], ['failed', null, 1])
        assert.match(job.error ?? '', new RegExp(`result of a job in queue "${lab.queue}"`))
        assert.deepEqual(lab.counted(), [{ version: '1.0.0', failed: 1 }])
      })
    }

    it('that both stores accept complete with it', async () => {
      for (const [given, kept] of [
        ['\\ud800 \\u0000 🎈', '\\ud800 \\u0000 🎈'],
        [{ at: new Date(0), nothing: undefined }, { at: '1970-01-01T00:00:00.000Z' }],
        [undefined, null],
        [() => 1, null],
        [Number.NaN, null],
      ] as const) {
        const worker = lab.work(() => given)
        const end = worker.completed()
        const { id } = await lab.jobs().add(lab.record, null, {})
        await end
        assert.deepEqual((await lab.jobs().read(lab.record, id)).result, kept)
        await worker.close()
      }
    })
  })

  describe('with listeners that encrypt', () => {
    const seal = async (value: unknown) => ({ sealed: Buffer.from(JSON.stringify(value ?? null)).toString('base64') })
    const unseal = async (value: unknown) => JSON.parse(Buffer.from((value as { sealed: string }).sealed, 'base64').toString())
    const sealing = { transformJobData: seal, restoreJobData: unseal, transformJobResult: seal, restoreJobResult: unseal }

    it('are stored encrypted, with their results, and restored for processors and the API', async () => {
      lab.payloads = sealing
      const child = lab.recordOf(`${lab.queue}-child`)
      const seen: unknown[] = []
      lab.work((job) => ({ twice: job.data.n * 2 }), child)
      const parent = lab.work(async (job) => {
        seen.push(job.data)
        await job.updateData({ step: 2 })
        seen.push(job.data)
        return { children: Object.values(await job.getChildrenValues()) }
      })
      const end = parent.completed()
      const flow = await lab.jobs().addFlow(async (name) => (name === child.name ? child : lab.record), {
        worker: lab.record.name,
        data: { secret: 'x' },
        children: [{ worker: child.name, data: { n: 21 } }],
      })
      const [, given] = await end
      assert.deepEqual(seen, [{ secret: 'x' }, { step: 2 }])
      const result = { children: [{ twice: 42 }] }
      assert.deepEqual(given, result)
      const raw = await lab.store.queue(lab.queue).getJob(flow.id)
      assert.deepEqual([raw?.data, raw?.returnvalue], [await seal({ step: 2 }), await seal(result)])
      assert.deepEqual((await lab.jobs().read(lab.record, flow.id)).result, result)
    })

    it('are also encrypted in schedules', async () => {
      lab.payloads = sealing
      const worker = lab.work((job) => job.data)
      const end = worker.completed()
      await lab.jobs().schedule(lab.record, 'sealed', { every: 60_000, data: { secret: 1 } })
      const [job] = await end
      assert.deepEqual((await lab.store.queue(lab.queue).getJob(job.id))?.data, await seal({ secret: 1 }))
      assert.deepEqual((await lab.jobs().read(lab.record, job.id)).result, { secret: 1 })
    })

    it('fail permanently when their data cannot be restored, and the processor never receives them', async () => {
      const { id } = await lab.jobs().add(lab.record, 'not sealed', { attempts: 5 })
      lab.payloads = sealing
      let ran = 0
      const worker = lab.work(() => ++ran)
      await worker.failed()
      const job = await lab.jobs().read(lab.record, id)
      assert.equal(ran, 0)
      assert.equal(job.attempts, 1)
      assert.match(job.error ?? '', /data of a job in queue .* cannot be restored/)
    })

    it('are not stored when they cannot be encrypted', async () => {
      lab.payloads = { transformJobData: () => Promise.reject(new Error('no key')) }
      await assert.rejects(lab.jobs().add(lab.record, 1, {}), { code: 'JOB_PAYLOAD_UNSTORABLE', message: /no key/ })
      assert.equal((await lab.jobs().counts(lab.record)).waiting, 0)
    })
  })
}
