import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { FlowJob } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import fc from '../../scripts/testing/properties.js'
import { type Queues, queuesService } from './index.js'

/** A job of a flow; `fails`: in how many of its runs it fails. Its parent fails with it, or with `continue` goes on. */
interface Planned {
  readonly name: string
  readonly fails: number
  readonly continues: boolean
  readonly children: readonly Planned[]
}

const failsWith = { failParentOnFailure: true } as const
const hour = 3_600_000

/** What retries, cancels and deletes do to the jobs that depend on each other, on both stores. */
export function flowRecoveryContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`flows that are recovered on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `flow${++number}`
    const stateOf = async (queue: string, id: string) => (await queues.job(queue, id))?.state
    const ended = (queue: string, id: string) =>
      eventually(`${id} ends`, async () => ['completed', 'failed'].includes((await stateOf(queue, id)) ?? ''))
    const settled = (queue: string) =>
      eventually('nothing waits or runs', async () => {
        const { active, delayed, waiting } = await queues.counts(queue)
        return active + delayed + waiting === 0
      })

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

    /** A worker that fails each job as often as planned, and notes the order of the runs. */
    const worked = (queue: string, plan: Planned) => {
      const left = new Map<string, number>()
      const note = ({ children, fails, name: job }: Planned): void => {
        left.set(job, fails)
        for (const child of children) note(child)
      }
      note(plan)
      const ran: string[] = []
      const worker = queues.worker(queue, async (job) => {
        ran.push(job.name)
        const more = left.get(job.name) ?? 0
        left.set(job.name, more - 1)
        if (more > 0) throw new Error(`no luck with ${job.name}`)
        return job.name
      })
      return { ran, worker }
    }
    const treeOf = (queue: string, { children, continues, name: job }: Planned, run: string, root = true): FlowJob => ({
      name: job,
      queueName: queue,
      opts: { jobId: `${run}-${job}`, ...(root ? {} : continues ? { ignoreDependencyOnFailure: true } : failsWith) },
      children: children.map((child) => treeOf(queue, child, run, false)),
    })
    const namesOf = ({ children, name: job }: Planned): readonly string[] => [job, ...children.flatMap(namesOf)]
    const chain = (leaf: Partial<Planned> = {}): Planned => ({
      name: 'root',
      fails: 0,
      continues: false,
      children: [
        { name: 'mid', fails: 0, continues: false, children: [{ name: 'leaf', fails: 1, continues: false, children: [], ...leaf }] },
      ],
    })

    it('run leaves first when the parent, a job in between or the leaf is retried, and each parent waits again', async () => {
      for (const retried of ['root', 'mid', 'leaf']) {
        const queue = fresh()
        const plan = chain()
        await queues.addFlow(treeOf(queue, plan, 'a'))
        const { ran, worker } = worked(queue, plan)
        await ended(queue, 'a-root')
        assert.deepEqual(ran, ['leaf'], retried)
        await queues.queue(queue).pause()
        const { jobs = [] } = await queues.retry(queue, `a-${retried}`)
        assert.deepEqual(jobs.map(({ id }) => id).sort(), ['a-leaf', 'a-mid', 'a-root'], retried)
        assert.deepEqual(
          [await stateOf(queue, 'a-leaf'), await stateOf(queue, 'a-mid'), await stateOf(queue, 'a-root')],
          ['waiting', 'waiting-children', 'waiting-children'],
        )
        await queues.queue(queue).resume()
        await ended(queue, 'a-root')
        assert.deepEqual(ran, ['leaf', 'leaf', 'mid', 'root'], retried)
        assert.equal(await stateOf(queue, 'a-root'), 'completed')
        await worker.close()
      }
    })

    it('say which child failed and why, and do not count an attempt of a job that never ran', async () => {
      const queue = fresh()
      await queues.addFlow(treeOf(queue, chain(), 'b'))
      const { worker } = worked(queue, chain())
      const told: string[] = []
      worker.on('failed', (_job, error) => told.push(error.message))
      await ended(queue, 'b-root')
      await worker.close()
      const [mid, root] = await Promise.all(['b-mid', 'b-root'].map(async (id) => (await queues.job(queue, id))?.job))
      const midError = `child ${queue}:b-leaf failed: no luck with leaf`
      assert.deepEqual([mid?.failedReason, root?.failedReason], [midError, `child ${queue}:b-mid failed: ${midError}`])
      assert.deepEqual([mid?.attemptsMade, root?.attemptsMade], [0, 0])
      assert.deepEqual(told, ['no luck with leaf', midError, root?.failedReason])
    })

    it('stay failed while another child keeps them failed, and wait when the last one is retried', async () => {
      const queue = fresh()
      const children = ['one', 'two', 'three'].map((job) => ({ name: job, fails: job === 'three' ? 0 : 1, continues: false, children: [] }))
      const plan: Planned = { name: 'root', fails: 0, continues: false, children }
      await queues.addFlow(treeOf(queue, plan, 'c'))
      const { ran, worker } = worked(queue, plan)
      await ended(queue, 'c-root')
      await settled(queue)
      await queues.retry(queue, 'c-one')
      await ended(queue, 'c-one')
      await settled(queue)
      assert.equal(await stateOf(queue, 'c-root'), 'failed')
      await queues.retry(queue, 'c-two')
      await eventually('the root completes', async () => (await stateOf(queue, 'c-root')) === 'completed')
      assert.deepEqual(
        ran.filter((job) => job === 'root'),
        ['root'],
      )
      assert.equal(ran.at(-1), 'root')
      await worker.close()
    })

    it('wait again when the child is retried before a worker has failed them', async () => {
      const [parents, children] = [fresh(), fresh()]
      await queues.addFlow({
        name: 'root',
        queueName: parents,
        opts: { jobId: 'd-root' },
        children: [{ name: 'leaf', queueName: children, opts: { jobId: 'd-leaf', ...failsWith } }],
      })
      await queues.fail(children, 'd-leaf', 'planted')
      assert.equal(await stateOf(parents, 'd-root'), 'waiting')
      await queues.retry(children, 'd-leaf')
      assert.equal(await stateOf(parents, 'd-root'), 'waiting-children')
      const [child, parent] = [queues.worker(children, async () => 1), queues.worker(parents, async () => 'ran')]
      await eventually('the parent completes', async () => (await stateOf(parents, 'd-root')) === 'completed')
      await Promise.all([child.close(), parent.close()])
    })

    it('fail at once with a child that they cannot run without, also before a delay of their own, which comes after a retry', async () => {
      for (const failing of [1, 2]) {
        const [parents, children] = [fresh(), fresh()]
        let fails = true
        const child = queues.worker(children, async () => {
          if (fails) throw new Error('no luck')
        })
        const parent = queues.worker(parents, async () => 'ran')
        await queues.addFlow({
          name: 'root',
          queueName: parents,
          opts: { jobId: 'g-root', delay: hour },
          children: Array.from({ length: failing }, (_, i) => ({
            name: 'leaf',
            queueName: children,
            opts: { jobId: `g-leaf-${i}`, attempts: 2, ...failsWith },
          })),
        })
        await eventually('the parent fails', async () => (await stateOf(parents, 'g-root')) === 'failed')
        await settled(children)
        fails = false
        await queues.retry(parents, 'g-root')
        await eventually('the children complete', async () => (await queues.counts(children)).completed === failing)
        await eventually('the parent waits for its delay', async () => (await stateOf(parents, 'g-root')) === 'delayed')
        await Promise.all([child.close(), parent.close()])
      }
    })

    it('go on although a child failed that may, see which one, and wait for it again when it is retried', async () => {
      const queue = fresh()
      let failures = {}
      const worker = queues.worker(queue, async (job) => {
        if (job.name === 'leaf') throw new Error('no luck')
        if (job.name === 'root') failures = await job.getIgnoredChildrenFailures()
      })
      const plan = { ...chain(), children: [{ name: 'leaf', fails: 1, continues: true, children: [] }] }
      await queues.addFlow(treeOf(queue, plan, 'e'))
      await eventually('the root completes', async () => (await stateOf(queue, 'e-root')) === 'completed')
      assert.deepEqual(
        Object.entries(failures).map(([key, why]) => [key.split(':').slice(-2).join(':'), why]),
        [[`${queue}:e-leaf`, 'no luck']],
      )
      assert.equal((await queues.retry(queue, 'e-leaf')).jobs?.length, 1)
      await ended(queue, 'e-leaf')
      await worker.close()
      assert.equal(await stateOf(queue, 'e-root'), 'completed')
      const other = fresh()
      await queues.addFlow(treeOf(other, plan, 'f'))
      await queues.fail(other, 'f-leaf', 'planted')
      assert.equal(await stateOf(other, 'f-root'), 'waiting')
      await queues.retry(other, 'f-leaf')
      assert.equal(await stateOf(other, 'f-root'), 'waiting-children')
    })

    it('are not retried without a child that failed them and is gone, and never if they have not failed', async () => {
      const queue = fresh()
      await queues.addFlow(treeOf(queue, chain(), 'g'))
      const { worker } = worked(queue, chain())
      await ended(queue, 'g-root')
      await worker.close()
      await queues.purge(queue, ['g-leaf'])
      assert.deepEqual(await queues.retry(queue, 'g-root'), { refused: 'gone', child: `${queue}:g-leaf` })
      assert.equal(await stateOf(queue, 'g-root'), 'failed')
      for (const id of ['none', 'a:b']) assert.equal((await queues.retry(queue, id)).refused, 'changed')
    })

    it('run leaves first in any order of retries, for trees of any shape', async () => {
      const tree = fc.letrec<{ tree: Planned }>((tie) => ({
        tree: fc.record({
          name: fc.constant(''),
          fails: fc.integer({ min: 0, max: 2 }),
          continues: fc.boolean(),
          children: fc.oneof(
            { maxDepth: 2, withCrossShrink: true },
            fc.constant([]),
            fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
          ),
        }),
      })).tree
      const named = (plan: Planned, path = 'r'): Planned => ({
        ...plan,
        name: path,
        children: plan.children.map((child, at) => named(child, `${path}_${at}`)),
      })
      await fc.assert(
        fc.asyncProperty(tree, fc.array(fc.nat(), { minLength: 40, maxLength: 40 }), async (shape, choices) => {
          const [queue, plan] = [fresh(), named(shape)]
          const { ran, worker } = worked(queue, plan)
          await queues.addFlow(treeOf(queue, plan, 't'))
          for (const choice of choices) {
            await settled(queue)
            const failed = await queues.list(queue, 'failed', { limit: 100 })
            const chosen = failed[choice % Math.max(1, failed.length)]
            if (chosen === undefined) break
            await queues.retry(queue, chosen.id ?? '')
          }
          await settled(queue)
          await worker.close()
          const { completed, failed, waitingChildren } = await queues.counts(queue)
          assert.deepEqual([completed, failed, waitingChildren], [namesOf(plan).length, 0, 0], ran.join(' '))
          const check = (one: Planned): void => {
            // A child that fails its parent has completed before the first run of the parent; all have run before it.
            const first = ran.indexOf(one.name)
            for (const child of one.children) {
              const before = ran.slice(0, first).filter((job) => job === child.name).length
              // One that may fail may do so through its own children, without a run.
              const least = child.continues ? (child.children.length === 0 ? 1 : 0) : child.fails + 1
              assert.ok(before >= least, `${one.name} before ${child.name}: ${ran.join(' ')}`)
              check(child)
            }
          }
          check(plan)
        }),
        { numRuns: 12 },
      )
    })

    it('lose only what waits below a cancelled parent: ended and running children stay', async () => {
      const [parents, children] = [fresh(), fresh()]
      let release = (): void => undefined
      const worker = queues.worker(
        children,
        async (job) => (job.name === 'runs' ? new Promise<void>((resolve) => (release = resolve)) : job.name),
        { concurrency: 3 },
      )
      await queues.addFlow({
        name: 'root',
        queueName: parents,
        opts: { jobId: 'h-root' },
        children: [
          ...['done', 'runs'].map((job) => ({ name: job, queueName: children, opts: { jobId: `h-${job}`, ...failsWith } })),
          { name: 'late', queueName: children, opts: { jobId: 'h-late', delay: hour, ...failsWith } },
        ],
      })
      await ended(children, 'h-done')
      await eventually('one runs', async () => (await stateOf(children, 'h-runs')) === 'active')
      const { below, outcome } = await queues.cancel(parents, 'h-root', 'not needed')
      assert.deepEqual([outcome, below?.map(({ id, state }) => [id, state])], ['removed', [['h-late', 'delayed']]])
      assert.equal(await stateOf(parents, 'h-root'), undefined)
      assert.equal(await stateOf(children, 'h-late'), undefined)
      assert.equal(await stateOf(children, 'h-done'), 'completed')
      release()
      await ended(children, 'h-runs')
      assert.equal(await stateOf(children, 'h-runs'), 'completed')
      await worker.close()
      assert.deepEqual(Object.values(await queues.counts(parents)), [0, 0, 0, 0, 0, 0])
    })

    it('never run a parent without its child when the child is deleted', async () => {
      const [parents, children] = [fresh(), fresh()]
      let ran = 0
      const parent = queues.worker(parents, async () => ++ran)
      await queues.addFlow({
        name: 'root',
        queueName: parents,
        opts: { jobId: 'i-root' },
        children: [{ name: 'leaf', queueName: children, opts: { jobId: 'i-leaf', ...failsWith } }],
      })
      const { jobs = [] } = await queues.remove(children, 'i-leaf')
      assert.deepEqual(
        jobs.map(({ id }) => id),
        ['i-leaf'],
      )
      assert.equal(await stateOf(children, 'i-leaf'), undefined)
      await ended(parents, 'i-root')
      assert.deepEqual([ran, await stateOf(parents, 'i-root')], [0, 'failed'])
      assert.match(
        (await queues.job(parents, 'i-root'))?.job.failedReason ?? '',
        // The parent may fail before or after the child is gone.
        new RegExp(`^child ${children}:i-leaf failed(?: or was removed|: Deleted)`),
      )
      await parent.close()
      assert.deepEqual(await queues.remove(parents, 'i-root').then((gone) => gone.jobs?.map(({ state }) => state)), ['failed'])
    })

    it('are removed by a cancel only while they wait, whatever a worker does meanwhile', async () => {
      const queue = fresh()
      const ran = new Set<string>()
      const worker = queues.worker(
        queue,
        async (job) => {
          ran.add(job.id ?? '')
          if (job.data.n % 3 === 0) throw new Error('no luck')
        },
        { concurrency: 5 },
      )
      const jobs = Array.from({ length: 200 }, (_, n) => ({ name: 'x', data: { n }, options: { jobId: `x${n}` } }))
      const outcomes = new Set<string>()
      for (let from = 0; from < jobs.length; from += 50) {
        const added = await queues.addBulk(queue, jobs.slice(from, from + 50))
        const answers = await Promise.all(added.map(async ({ id = '' }) => ({ id, ...(await queues.cancel(queue, id, 'raced')) })))
        await settled(queue)
        for (const { id, outcome, state } of answers) {
          outcomes.add(outcome)
          const now = await stateOf(queue, id)
          if (outcome === 'removed') assert.deepEqual([now, ran.has(id)], [undefined, false], id)
          else assert.ok(ran.has(id) && (now === 'completed' || now === 'failed'), `${id}: ${outcome}, ${now}`)
          if (outcome === 'finished') assert.equal(state, now)
        }
      }
      assert.ok(outcomes.has('removed'))
      await worker.close()
    })

    it('are listed from the last job that stays, while others leave the list', async () => {
      const queue = fresh()
      const added = await queues.addBulk(
        queue,
        Array.from({ length: 9 }, (_, n) => ({ name: `n${n}`, options: { jobId: `j${n}`, ...(n > 5 ? { priority: n } : {}) } })),
      )
      const page = async (after: readonly string[]) => (await queues.list(queue, 'waiting', { after, limit: 3 })).map(({ id }) => id)
      assert.deepEqual(await page([]), ['j0', 'j1', 'j2'])
      await added[1]?.remove()
      await added[2]?.remove()
      assert.deepEqual(await page(['j0', 'j1', 'j2']), ['j3', 'j4', 'j5'])
      assert.deepEqual(await page(['j4']), ['j5', 'j6', 'j7'])
      assert.deepEqual(await page(['j7']), ['j8'])
      assert.deepEqual(await page(['j1']), ['j0', 'j3', 'j4'])
      for (const id of ['j0', 'j3', 'j4', 'j5']) await queues.fail(queue, id, 'planted')
      const failed = async (after: readonly string[]) => (await queues.list(queue, 'failed', { after, limit: 2 })).map(({ id }) => id)
      const all = [...(await failed([])), ...(await failed((await failed([])) as string[]))]
      assert.deepEqual([...all].sort(), ['j0', 'j3', 'j4', 'j5'])
    })
  })
}
