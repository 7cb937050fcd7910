import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { signal } from '../testing/signal.js'
import { fakeHooks } from './testing/fake-hooks.js'
import { type JobLab, listening } from './testing/job-lab.js'
import type { AttemptEnd, AttemptOutcome } from './types.js'

const named = (name: string, message = name): Error => Object.assign(new Error(message), { name })

/** How attempts end, and the middleware around them. */
export function describeAttempts(lab: JobLab): void {
  /** Calls of `onAttemptEnd`, and a wait for the next ones. */
  const ends = () => {
    const told: AttemptEnd[] = []
    let due = { count: Number.POSITIVE_INFINITY, fire: () => undefined as void }
    lab.hooks = fakeHooks({
      onAttemptEnd: (end) => {
        told.push(end)
        if (told.length >= due.count) due.fire()
      },
    })
    const reached = (count: number): Promise<void> =>
      new Promise((resolve) => {
        due = { count, fire: resolve }
        if (told.length >= count) resolve()
      })
    return { told, reached }
  }
  const short = ({ attempt, final, outcome }: AttemptEnd): readonly [number, AttemptOutcome, boolean] => [attempt, outcome, final]

  describe('whose attempts end', () => {
    it('publish each attempt once, with its outcome', async () => {
      const { told, reached } = ends()
      let runs = 0
      lab.work((job) => {
        if (job.name === 'given-up') throw named('UnrecoverableError', 'no use')
        if (++runs === 1) throw new Error('no luck')
        return { done: true }
      })
      const { id } = await lab.jobs().add(lab.record, { n: 1 }, { name: 'tried', attempts: 2, backoff: { type: 'fixed', delay: 1 } })
      await reached(2)
      await lab.jobs().add(lab.record, null, { name: 'given-up', attempts: 5 })
      await reached(3)
      assert.deepEqual(told.map(short), [
        [1, 'failed', false],
        [2, 'completed', true],
        [1, 'failed', true],
      ])
      const { error, runMs, waitMs, job, ...facts } = told[0] as AttemptEnd
      assert.deepEqual(facts, { worker: lab.record.name, version: '1.0.0', node: 'node-1', attempt: 1, final: false, outcome: 'failed' })
      assert.deepEqual([job.id, job.data, error?.message, told[1]?.error], [id, { n: 1 }, 'no luck', undefined])
      for (const ms of [runMs, waitMs]) assert.ok(Number.isFinite(ms) && ms >= 0)
    })

    it('report how long they waited since they were ready, without the backoff before them', async () => {
      const { told, reached } = ends()
      const backoff = { type: 'fixed', delay: 300 } as const
      const failedAt: number[] = []
      const startedAt: number[] = []
      lab.work((job) => {
        startedAt.push(job.processedOn ?? 0)
        failedAt.push(Date.now())
        throw new Error('no')
      })
      await lab.jobs().add(lab.record, null, { attempts: 2, backoff })
      await reached(2)
      assert.ok(
        (told[1]?.waitMs ?? 1e9) <= (startedAt[1] ?? 0) - (failedAt[0] ?? 0) - backoff.delay,
        JSON.stringify([startedAt, failedAt, told[1]?.waitMs]),
      )
    })

    it('report cancelled, timedOut or deferred rather than failed', async () => {
      const { told, reached } = ends()
      const worker = lab.work(async (job, token, aborted) => {
        if (job.name === 'deferred' && job.attemptsStarted === 1) {
          await job.moveToDelayed(Date.now(), token)
          throw named('DelayedError')
        }
        return job.name === 'deferred' ? 1 : listening(job, token, aborted)
      })
      await lab.jobs().add(lab.record, null, { name: 'timed-out', timeout: 5 })
      await reached(1)
      const active = worker.started()
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 5 })
      await active
      await lab.jobs().cancel(lab.record, id, 'no')
      await reached(2)
      await lab.jobs().add(lab.record, null, { name: 'deferred' })
      await reached(4)
      assert.deepEqual(told.map(short), [
        [1, 'timedOut', true],
        [1, 'cancelled', true],
        [1, 'deferred', false],
        [1, 'completed', true],
      ])
    })

    it('publish a final end when they were cancelled while no node responded', async () => {
      const release = signal()
      const foreign = lab.store.worker(lab.queue, () => release.promise.then(() => Promise.reject(new Error('died'))))
      const active = once(foreign, 'active')
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 5, backoff: { type: 'fixed', delay: 1 } })
      await active
      await lab.jobs().cancel(lab.record, id, 'no')
      const retried = once(foreign, 'failed')
      const closing = foreign.pause(true)
      release.fire()
      await Promise.all([retried, closing])
      const { told, reached } = ends()
      lab.work(() => assert.fail('it must not run'))
      await reached(1)
      assert.deepEqual([told.map(short), told[0]?.version, told[0]?.runMs], [[[2, 'cancelled', true]], null, 0])
      await foreign.close()
    })

    it('make a stopping worker wait for audits, whose errors do not fail it', async () => {
      const noting = signal()
      const noted: string[] = []
      lab.hooks = fakeHooks({
        afterAttempt: async ({ outcome }) => {
          await noting.promise
          noted.push(outcome)
          return [{ plugin: 'audit', hook: 'afterAttempt', error: new Error('disk full') }]
        },
      })
      const worker = lab.work(() => 1)
      const end = worker.completed()
      await lab.jobs().add(lab.record, null, {})
      await end
      const closed = worker.close()
      noting.fire()
      await closed
      assert.deepEqual(noted, ['completed'])
      assert.match(lab.logs.text(), /hook of audit failed for an attempt.*disk full/)
    })
  })

  describe('wrapped by job middleware', () => {
    it('pass through all of them, the first one outermost, with the full context', async () => {
      const order: string[] = []
      let seen: unknown
      lab.middlewares = [
        async ({ worker, version, node, attempt, token, signal: aborted, job }, next) => {
          order.push('outer')
          seen = [worker, version, node, attempt, typeof token, aborted.aborted, job.data]
          const result = await next()
          order.push(`after ${JSON.stringify(result)}`)
        },
        async (_context, next) => {
          order.push('inner')
          return [await next()]
        },
      ]
      const worker = lab.work(() => order.push('processor') && 'done')
      const end = worker.completed()
      await lab.jobs().add(lab.record, { n: 1 }, {})
      assert.deepEqual((await end)[1], ['done'])
      assert.deepEqual(order, ['outer', 'inner', 'processor', 'after ["done"]'])
      assert.deepEqual(seen, [lab.record.name, '1.0.0', 'node-1', 1, 'string', false, { n: 1 }])
    })

    it('can be delayed before they run without using up an attempt', async () => {
      const { told, reached } = ends()
      let begins = 0
      let runs = 0
      lab.middlewares = [({ delay }, next) => (++begins <= 2 ? delay(1) : next())]
      lab.work(() => ++runs)
      const { id } = await lab.jobs().add(lab.record, null, { attempts: 1 })
      await reached(3)
      assert.deepEqual(told.map(short), [
        [1, 'deferred', false],
        [1, 'deferred', false],
        [1, 'completed', true],
      ])
      const job = await lab.jobs().read(lab.record, id)
      assert.deepEqual([runs, job.status, job.attempts, job.stalls], [1, 'completed', 1, 0])
      assert.deepEqual(lab.counted(), [{ version: '1.0.0', completed: 1 }])
    })

    it('can complete without running, and fail with the errors and misuse of a middleware', async () => {
      const { told, reached } = ends()
      const acts: Readonly<Record<string, (typeof lab.middlewares)[number]>> = {
        answered: () => 'from elsewhere',
        thrown: () => Promise.reject(new Error('not today')),
        twice: async (_context, next) => [await next(), await next()],
        late: async ({ delay }, next) => (await next(), delay(5)),
        endless: ({ delay }) => delay(Number.POSITIVE_INFINITY),
      }
      lab.middlewares = [(context, next) => acts[context.job.name]?.(context, next)]
      let runs = 0
      lab.work(() => void runs++)
      for (const [i, name] of Object.keys(acts).entries()) {
        await lab.jobs().add(lab.record, null, { name, attempts: 1 })
        await reached(i + 1)
      }
      assert.deepEqual(
        told.map(({ outcome, error }) => error?.message ?? outcome),
        [
          'completed',
          'not today',
          'a job middleware called next() more than once',
          'a job middleware called delay() after the processor had begun',
          'A job can be delayed by an integer from 0 to 31536000000 ms, not by Infinity',
        ],
      )
      assert.equal(runs, 2)
    })

    it('share one signal and one timeout with their processor', async () => {
      const { told, reached } = ends()
      const reasons: unknown[] = []
      lab.middlewares = [
        ({ signal: aborted }, next) => {
          aborted.addEventListener('abort', () => reasons.push((aborted.reason as { code?: string }).code))
          return next()
        },
      ]
      lab.work(listening)
      await lab.jobs().add(lab.record, null, { timeout: 5 })
      await reached(1)
      assert.deepEqual([reasons, told[0]?.outcome], [['JOB_TIMEOUT'], 'timedOut'])
    })
  })

  describe('that are added', () => {
    it('are published when they are stored, without their payload', async () => {
      const told: unknown[] = []
      lab.hooks = fakeHooks({
        onJobAdded: (worker, { id, queue, name, options }) => void told.push([worker, id, queue, name, options.priority]),
      })
      const { id } = await lab.jobs().add(lab.record, { secret: 1 }, { name: 'mail', priority: 5 })
      const flow = await lab.jobs().addFlow(async () => lab.record, { worker: lab.record.name, children: [{ worker: lab.record.name }] })
      await assert.rejects(lab.jobs().add(lab.record, 'a\0b', {}))
      const { name } = lab.record
      assert.deepEqual(told, [
        [name, id, lab.queue, 'mail', 5],
        [name, flow.id, lab.queue, name, 1],
        [name, flow.children[0]?.id, lab.queue, name, 1],
      ])
    })
  })
}
