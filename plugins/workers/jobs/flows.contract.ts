import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WorkerRecord } from '../record/record.js'
import { signal } from '../testing/signal.js'
import type { JobLab } from './testing/job-lab.js'

/** Jobs that wait for others. */
export function describeFlows(lab: JobLab): void {
  describe('in a flow', () => {
    const parentAndChild = () => {
      const child = lab.recordOf(`${lab.queue}-child`)
      const resolve = async (name: string): Promise<WorkerRecord> => (name === child.name ? child : lab.record)
      return { child, resolve }
    }

    it('run when their children are done, on the queues of their workers', async () => {
      const { child, resolve } = parentAndChild()
      const flow = await lab.jobs().addFlow(resolve, {
        worker: lab.record.name,
        data: { sum: true },
        options: { name: 'sum', priority: 'High', timeout: 60_000 },
        children: [
          { worker: child.name, data: 1 },
          { worker: child.name, data: 2, options: { priority: 'Low' }, children: [{ worker: lab.record.name, data: 'leaf' }] },
        ],
      })
      assert.deepEqual(
        [flow.queue, ...flow.children.map((job) => job.queue), flow.children[1]?.children[0]?.queue],
        [lab.record.queueName, child.queueName, child.queueName, lab.record.queueName],
      )
      const waiting = await lab.jobs().read(lab.record, flow.id)
      assert.deepEqual([waiting.status, waiting.name, waiting.priority], ['waiting', 'sum', 5])
      assert.equal((await lab.jobs().counts(lab.record)).waiting, 2)
      lab.work((job) => job.data * 10, child)
      const parent = lab.work(async (job) => (job.data === 'leaf' ? 0 : Object.values(await job.getChildrenValues()).sort()))
      await parent.times('completed', 2)
      assert.deepEqual((await lab.jobs().read(lab.record, flow.id)).result, [10, 20])
      const kept = await lab.store.queue(lab.queue).getJob(flow.id)
      assert.notEqual(kept?.opts.removeOnComplete, undefined)
    })

    it('are added once however often a flow with a job id is added, also when its children have ended and are gone', async () => {
      const { child, resolve } = parentAndChild()
      const flow = {
        worker: lab.record.name,
        options: { jobId: `once-${lab.queue}` },
        children: [
          { worker: child.name, data: 1 },
          { worker: child.name, data: 2, children: [{ worker: child.name, data: 3 }] },
        ],
      }
      const [first, again] = [await lab.jobs().addFlow(resolve, flow), await lab.jobs().addFlow(resolve, flow)]
      assert.deepEqual(again, { ...first, deduplicated: true })
      assert.equal(first.deduplicated, false)
      assert.equal(first.id, flow.options.jobId)
      assert.equal((await lab.jobs().counts(child)).waiting, 3)
      await lab.store
        .queue(child.queueName)
        .getJob(first.children[0]?.id ?? '')
        .then((job) => job?.remove())
      await lab.jobs().addFlow(resolve, flow)
      assert.equal((await lab.jobs().counts(child)).waiting, 2)
    })

    it('fail when a child failed permanently', async () => {
      const { child, resolve } = parentAndChild()
      const flow = await lab
        .jobs()
        .addFlow(resolve, { worker: lab.record.name, children: [{ worker: child.name, options: { attempts: 2 } }] })
      let ran = 0
      const parent = lab.work(() => ++ran)
      const end = parent.failed()
      lab.work(() => Promise.reject(new Error('no luck')), child)
      await end
      assert.equal(ran, 0)
      const job = await lab.jobs().read(lab.record, flow.id)
      assert.equal(job.status, 'failed')
      assert.match(job.error ?? '', /child/)
      const below = await lab.jobs().read(child, flow.children[0]?.id ?? '')
      assert.deepEqual([below.error, below.attempts], ['no luck', 2])
    })

    it('run although a child failed that may, once all have ended, and see which one', async () => {
      const { child, resolve } = parentAndChild()
      const flow = await lab.jobs().addFlow(resolve, {
        worker: lab.record.name,
        children: [
          { worker: child.name, data: 'bad', options: { onFailure: 'continue', attempts: 1 } },
          { worker: child.name, data: 'good', options: { onFailure: 'fail' } },
        ],
      })
      lab.work((job) => (job.data === 'bad' ? Promise.reject(new Error('no luck')) : 'fine'), child)
      const parent = lab.work(async (job) => ({
        values: Object.values(await job.getChildrenValues()),
        failed: Object.entries(await job.getIgnoredChildrenFailures()),
      }))
      await parent.completed()
      const { result } = await lab.jobs().read(lab.record, flow.id)
      const { failed, values } = result as { readonly values: unknown; readonly failed: readonly (readonly [string, string])[] }
      assert.deepEqual([values, failed.map(([, why]) => why)], [['fine'], ['no luck']])
      assert.ok(failed[0]?.[0].endsWith(`${child.queueName}:${flow.children[0]?.id}`))
    })

    it('name the child that failed them and its reason, and count no attempt', async () => {
      const { child, resolve } = parentAndChild()
      const flow = await lab.jobs().addFlow(resolve, { worker: lab.record.name, children: [{ worker: child.name }] })
      const parent = lab.work(() => assert.fail('its child failed'))
      const end = parent.failed()
      lab.work(() => Promise.reject(new Error('no luck')), child)
      const [, error] = await end
      const expected = `child ${child.queueName}:${flow.children[0]?.id} failed: no luck`
      const job = await lab.jobs().read(lab.record, flow.id)
      assert.deepEqual([error.message, job.error, job.attempts], [expected, expected, 0])
    })

    it('fail with their parent when they are cancelled before they run', async () => {
      const { child, resolve } = parentAndChild()
      const options = [{}, { delay: 60_000 }] as const
      for (const given of options) {
        const flow = await lab.jobs().addFlow(resolve, {
          worker: lab.record.name,
          children: [{ worker: child.name, options: { ...given, attempts: 3 } }],
        })
        const below = flow.children[0]?.id ?? ''
        assert.equal(await lab.jobs().cancel(child, below, 'not needed'), 'failed')
        const job = await lab.jobs().read(child, below)
        assert.deepEqual([job.status, job.error], ['failed', 'Cancelled: not needed'])
        await assert.rejects(lab.jobs().cancel(child, below, 'again'), { code: 'JOB_FINISHED' })
      }
      let ran = 0
      const parent = lab.work(() => ++ran)
      await parent.times('failed', options.length)
      assert.equal(ran, 0)
    })

    it('remove the jobs that wait below them when they are cancelled', async () => {
      const { child, resolve } = parentAndChild()
      const flow = await lab.jobs().addFlow(resolve, {
        worker: lab.record.name,
        children: [{ worker: child.name, options: { name: 'middle' }, children: [{ worker: child.name }] }],
      })
      const [middle] = flow.children
      assert.equal(await lab.jobs().cancel(child, middle?.id ?? '', 'no'), 'failed')
      await assert.rejects(lab.jobs().read(child, middle?.children[0]?.id ?? ''), { code: 'JOB_NOT_FOUND' })
      assert.equal((await lab.jobs().read(child, middle?.id ?? '')).error, 'Cancelled: no')
      const parent = lab.work(() => assert.fail('a child of it was cancelled'))
      await parent.failed()
      assert.equal((await lab.jobs().counts(child)).waiting, 0)
    })

    it('affect their parent according to the options of the flow when they are cancelled', async () => {
      const { child } = parentAndChild()
      const rows = [
        [{ ignoreDependencyOnFailure: true }, 'completed', undefined],
        [{ removeDependencyOnFailure: true }, 'completed', undefined],
        [{ failParentOnFailure: true }, 'failed', /child/],
      ] as const
      for (const [opts, status, error] of rows) {
        const { job, children = [] } = await lab.store.addFlow({
          name: 'parent',
          queueName: lab.queue,
          children: [{ name: 'child', queueName: child.queueName, opts }],
        })
        assert.equal(await lab.jobs().cancel(child, children[0]?.job.id ?? '', 'no'), 'failed')
        const parent = lab.work(() => 'ran')
        await (status === 'completed' ? parent.completed() : parent.failed())
        await parent.close()
        const read = await lab.jobs().read(lab.record, job.id ?? '')
        assert.equal(read.status, status)
        if (error !== undefined) assert.match(read.error ?? '', error)
      }
    })

    it('are added all or not at all', async () => {
      const { child, resolve } = parentAndChild()
      const bad = [{ worker: child.name }, { worker: child.name, data: 'a\0b' }]
      await assert.rejects(lab.jobs().addFlow(resolve, { worker: lab.record.name, children: bad }), { code: 'QUEUE_INVALID_JOB' })
      const inactive = async (name: string) => lab.recordOf(name, { activeStatus: name !== child.name })
      await assert.rejects(lab.jobs().addFlow(inactive, { worker: lab.record.name, children: [{ worker: child.name }] }), {
        code: 'WORKER_INACTIVE',
      })
      assert.equal((await lab.jobs().counts(child)).waiting + (await lab.jobs().counts(lab.record)).waiting, 0)
    })

    it('are cancelled with the children that they wait for, unless one of them is running', async () => {
      const { child, resolve } = parentAndChild()
      const flow = () => lab.jobs().addFlow(resolve, { worker: lab.record.name, children: [{ worker: child.name }] })
      const first = await flow()
      assert.equal(await lab.jobs().cancel(lab.record, first.id, 'no'), 'removed')
      await assert.rejects(lab.jobs().read(child, first.children[0]?.id ?? ''), { code: 'JOB_NOT_FOUND' })

      const release = signal()
      const worker = lab.work(async () => release.promise, child)
      const active = worker.started()
      const second = await flow()
      await active
      assert.equal(await lab.jobs().cancel(lab.record, second.id, 'no'), 'removed')
      await assert.rejects(lab.jobs().read(lab.record, second.id), { code: 'JOB_NOT_FOUND' })
      const end = worker.completed()
      release.fire()
      await end
      assert.equal((await lab.jobs().read(child, second.children[0]?.id ?? '')).status, 'completed')
    })
  })
}
