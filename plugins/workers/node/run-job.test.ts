import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { systemClock } from 'zin'
import { cancelReason, stopReason } from '../jobs/cancel-reason.js'
import { fakeHooks } from '../jobs/testing/fake-hooks.js'
import type { JobView } from '../jobs/types.js'
import type { WorkerProcessor } from '../processors/processor.js'
import { Counters } from './counters.js'
import { jobRunner } from './run-job.js'

const job = (more: object = {}): Job =>
  ({
    id: '1',
    name: 'job',
    queueName: 'queue',
    data: { n: 1 },
    opts: { attempts: 3 },
    attemptsMade: 0,
    timestamp: 5,
    ...more,
  }) as unknown as Job
const named = (name: string, message = name): Error => Object.assign(new Error(message), { name })

function setUp(run: WorkerProcessor, hooks = fakeHooks()) {
  const counters = new Counters()
  const runner = jobRunner({
    workerName: 'mail',
    select: (one) => ({ version: one.name === 'canary' ? '2.0.0' : '1.0.0', run }),
    counters,
    clock: systemClock,
    hooks,
    defaults: () => ({}),
  })
  return { counters, runner: (one: Job, signal?: AbortSignal) => runner(one, 'token', signal), arity: runner.length }
}

describe('the wrapper of an attempt', () => {
  it('has three parameters whatever the processor has, or BullMQ would not cancel', () => {
    assert.equal(setUp(() => 1).arity, 3)
  })

  it('passes job, token and signal on, and gives the result', async () => {
    const { signal } = new AbortController()
    const seen: unknown[] = []
    const { runner } = setUp((...args) => seen.push(...args) && 'result')
    const one = job()
    assert.equal(await runner(one, signal), 'result')
    assert.deepEqual(seen, [one, 'token', signal])
  })

  it('counts the attempt for the version that does it, while it runs and after', async () => {
    let inFlight = 0
    const { counters, runner } = setUp(() => {
      inFlight = counters.inFlight('2.0.0')
    })
    await runner(job({ name: 'canary' }))
    assert.deepEqual([inFlight, counters.inFlight('2.0.0')], [1, 0])
    assert.deepEqual(
      counters.drain().map(({ version, completed }) => [version, completed]),
      [['2.0.0', 1]],
    )
  })

  it('counts how an attempt ended', async () => {
    const cancelled = AbortSignal.abort(cancelReason('no'))
    const rows: readonly (readonly [thrown: unknown, signal: AbortSignal | undefined, counts: readonly number[]])[] = [
      [new Error('own fault'), undefined, [0, 1, 0]],
      ['text', undefined, [0, 1, 0]],
      [Object.assign(new Error('dead'), { code: 'PROCESSOR_DIED' }), undefined, [0, 1, 1]],
      [named('UnrecoverableError'), undefined, [0, 1, 0]],
      [named('DelayedError'), undefined, [0, 0, 0]],
      [named('WaitingError'), undefined, [0, 0, 0]],
      [named('WaitingChildrenError'), undefined, [0, 0, 0]],
      [named('RateLimitError'), undefined, [0, 0, 0]],
      [named('Error', 'bullmq:rateLimitExceeded'), undefined, [0, 0, 0]],
      [new Error('heard'), cancelled, [0, 0, 0]],
      [named('UnrecoverableError'), AbortSignal.abort(stopReason), [0, 1, 0]],
    ]
    for (const [thrown, signal, counts] of rows) {
      const { counters, runner } = setUp(() => Promise.reject(thrown))
      await assert.rejects(async () => runner(job(), signal))
      const [found = { completed: 0, failed: 0, lost: 0 }] = counters.drain()
      assert.deepEqual([found.completed, found.failed, found.lost], counts, String(thrown))
      assert.equal(counters.inFlight('1.0.0'), 0)
    }
  })

  it('completes a job that finished although it was cancelled', async () => {
    const { counters, runner } = setUp(() => 'finished')
    assert.equal(await runner(job(), AbortSignal.abort(cancelReason('no'))), 'finished')
    assert.equal(counters.drain()[0]?.completed, 1)
  })

  it('keeps the error of a job that the store does not take back', async () => {
    const { runner } = setUp(() => Promise.reject(new Error('aborted')))
    const away = job({ moveToWait: () => Promise.reject(new Error('store is away')) })
    await assert.rejects(async () => runner(away, AbortSignal.abort(stopReason)), /^Error: aborted$/)
  })

  it('tells of the start of each attempt with restored data', async () => {
    const views: JobView[] = []
    const hooks = fakeHooks({ onJobStart: (_worker, view) => void views.push(view), restoreJobData: async () => 'plain' })
    const { runner } = setUp((one) => one.data, hooks)
    assert.equal(await runner(job({ attemptsMade: 1, getChildrenValues: () => undefined })), 'plain')
    assert.deepEqual(views, [{ id: '1', name: 'job', queue: 'queue', data: 'plain', attempt: 2, maxAttempts: 3, timestamp: 5 }])
  })

  it('does not run a job again whose result could not be prepared for the store', async () => {
    const { counters, runner } = setUp(() => 'secret', fakeHooks({ transformJobResult: () => Promise.reject(new Error('no key')) }))
    await assert.rejects(async () => runner(job()), { name: 'UnrecoverableError', message: /result of a job of worker "mail".*no key/ })
    assert.equal(counters.drain()[0]?.failed, 1)
  })
})
