import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { systemClock } from 'zin'
import { cancelReason } from 'zin/plugins/queues'
import { memoryLogger } from 'zin/testing'
import { isDeferral } from '../jobs/deferral.js'
import { stopReason } from '../jobs/stop-reason.js'
import { fakeHooks } from '../jobs/testing/fake-hooks.js'
import type { JobView } from '../jobs/types.js'
import type { WorkerProcessor } from '../processors/processor.js'
import { AttemptRecords } from './attempt-records.js'
import { Counters } from './counters.js'
import { type JobMiddleware, JobMiddlewares } from './job-middleware.js'
import { jobRunner } from './run-job.js'
import { RunningJobs } from './running-jobs.js'
import { TimeLimits } from './time-limit.js'

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

/** @param reason if given, every attempt is aborted with it when it begins. */
function setUp(run: WorkerProcessor, { hooks = fakeHooks(), reason }: { hooks?: ReturnType<typeof fakeHooks>; reason?: string } = {}) {
  const counters = new Counters()
  const running = new RunningJobs(systemClock)
  const aborted: WorkerProcessor = (...args) => {
    running.cancelAll(reason ?? '')
    return run(...args)
  }
  const middlewares = new JobMiddlewares(() => 0)
  const shared = { worker: 'mail', node: 'node-1', counters, running, clock: systemClock, hooks, log: memoryLogger() }
  const records = new AttemptRecords({
    ...shared,
    queue: 'queue',
    queues: undefined as never,
    lostVersion: async () => undefined,
    onDead: () => undefined,
  })
  const runner = jobRunner({
    ...shared,
    records,
    timeLimits: new TimeLimits(systemClock),
    select: (one) => ({ version: one.name === 'canary' ? '2.0.0' : '1.0.0', run: reason === undefined ? run : aborted }),
    middlewares: () => middlewares.chain,
    context: new AsyncLocalStorage(),
    defaults: () => ({}),
  })
  /** Runs an attempt whose outcome the store accepts. */
  const accepted = async (one: Job): Promise<unknown> => {
    try {
      const result = await runner(one, 'token')
      records.completed(one, result)
      return result
    } catch (error) {
      if (!isDeferral(error)) records.failed(one, error as Error)
      throw error
    }
  }
  return { counters, running, records, middlewares, runner: accepted, unaccepted: (one: Job) => runner(one, 'token') }
}

describe('the wrapper of an attempt', () => {
  it('passes on job, token and signal, and returns the result', async () => {
    const seen: unknown[] = []
    const { runner } = setUp((...args) => seen.push(...args) && 'result')
    const one = job()
    assert.equal(await runner(one), 'result')
    assert.deepEqual(seen.slice(0, 2), [one, 'token'])
    assert.ok(seen[2] instanceof AbortSignal)
  })

  it('passes a signal to processors that declare three parameters or none', async () => {
    const given: boolean[] = []
    for (const length of [0, 1, 2, 3]) {
      const run: WorkerProcessor = (...args) => given.push(args.length > 2)
      await setUp(Object.defineProperty(run, 'length', { value: length })).runner(job())
    }
    assert.deepEqual(given, [true, false, false, true])
  })

  it('aborts every running attempt of a cancelled job, with the first reason', async () => {
    const signals: AbortSignal[] = []
    const { running, runner } = setUp(
      (_one, _token, signal) =>
        new Promise((_, reject) => {
          signals.push(signal as AbortSignal)
          signal?.addEventListener('abort', () => reject(signal.reason))
        }),
    )
    const attempts = [runner(job()), runner(job()), runner(job({ id: '2' }))]
    assert.equal(running.count, 3)
    assert.equal(running.cancel('1', cancelReason('first')), true)
    running.cancelAll(cancelReason('second'))
    await Promise.all(attempts.map((attempt) => assert.rejects(attempt, { name: 'UnrecoverableError' })))
    assert.deepEqual(
      signals.map(({ reason }) => reason),
      ['first', 'first', 'second'].map(cancelReason),
    )
    assert.deepEqual([running.count, running.cancel('1', 'late')], [0, false])
  })

  it('counts the attempt for the version that runs it, during and after the run', async () => {
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

  it('does not count an outcome that the store has not accepted', async () => {
    for (const [run, column] of [
      [() => 'done', 'completed'],
      [() => Promise.reject(new Error('own fault')), 'failed'],
    ] as const) {
      const { counters, records, unaccepted } = setUp(run)
      const one = job()
      await Promise.resolve(unaccepted(one)).catch(() => undefined)
      assert.deepEqual([counters.inFlight('1.0.0'), counters.drain()], [0, []])
      if (column === 'completed') records.completed(one, 'done')
      else records.failed(one, new Error('own fault'))
      assert.equal(counters.drain()[0]?.[column], 1)
    }
  })

  it('counts how an attempt ended', async () => {
    const cancelled = cancelReason('no')
    const rows: readonly (readonly [thrown: unknown, reason: string | undefined, counts: readonly number[]])[] = [
      [new Error('own fault'), undefined, [0, 1, 0]],
      ['text', undefined, [0, 1, 0]],
      [Object.assign(new Error('dead'), { code: 'PROCESSOR_DIED' }), undefined, [0, 1, 1]],
      [named('UnrecoverableError'), undefined, [0, 1, 0]],
      [named('DelayedError'), undefined, [0, 0, 0]],
      [named('WaitingError'), undefined, [0, 0, 0]],
      [named('WaitingChildrenError'), undefined, [0, 0, 0]],
      [named('RateLimitError'), undefined, [0, 0, 0]],
      [named('Error', 'bullmq:rateLimitExceeded'), undefined, [0, 0, 0]],
      [new Error('heard'), cancelled, [0, 0, 0, 1]],
      [named('UnrecoverableError'), stopReason, [0, 1, 0]],
    ]
    for (const [thrown, reason, counts] of rows) {
      const { counters, runner } = setUp(() => Promise.reject(thrown), reason === undefined ? {} : { reason })
      await assert.rejects(async () => runner(job()))
      const [found = { completed: 0, failed: 0, lost: 0, cancelled: 0 }] = counters.drain()
      assert.deepEqual([found.completed, found.failed, found.lost, found.cancelled], [...counts, 0].slice(0, 4), String(thrown))
      assert.equal(counters.inFlight('1.0.0'), 0)
    }
  })

  it('ends the attempt whatever is thrown, with an error that every store accepts', async () => {
    const nul = Object.freeze(new Error('a\0b'))
    const half = new Error(`cut ${'🎈'.slice(0, 1)}`)
    const things = [
      nul,
      half,
      Object.create(null),
      Object.assign(new Error('x'), { message: 42 }),
      { message: { deep: 1 } },
      undefined,
      'text',
    ]
    for (const thrown of things) {
      const { counters, running, runner } = setUp(() => Promise.reject(thrown))
      await assert.rejects(
        async () => runner(job()),
        (error: Error) => typeof error.message === 'string' && !/\0|\p{Surrogate}/u.test(error.message),
      )
      assert.deepEqual([counters.inFlight('1.0.0'), counters.drain()[0]?.failed, running.count], [0, 1, 0])
    }
  })

  it('completes a job that finished although it was cancelled', async () => {
    const { counters, runner } = setUp(() => 'finished', { reason: cancelReason('no') })
    assert.equal(await runner(job()), 'finished')
    assert.equal(counters.drain()[0]?.completed, 1)
  })

  it('keeps the error of a job that could not be returned to its queue', async () => {
    const { runner } = setUp(() => Promise.reject(new Error('aborted')), { reason: stopReason })
    const away = job({ moveToWait: () => Promise.reject(new Error('store is away')) })
    await assert.rejects(async () => runner(away), /^Error: aborted$/)
  })

  it('fails with the error of a middleware that does not await next(), whatever next() rejects with', async (t) => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    t.after(() => process.off('unhandledRejection', note))
    const careless: readonly JobMiddleware[] = [
      (_context, next) => {
        void next()
        throw new Error('own fault')
      },
      async (_context, next) => {
        await Promise.resolve()
        void next()
        throw new Error('own fault')
      },
    ]
    for (const middleware of careless) {
      const { middlewares, runner } = setUp(() => Promise.reject(new Error('ignored')))
      middlewares.add(middleware, { plugin: 'careless' })
      await assert.rejects(async () => runner(job()), /^Error: own fault$/)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(unhandled, [])
  })

  it('calls onJobStart for each attempt', async () => {
    const views: JobView[] = []
    const { runner } = setUp(() => 1, { hooks: fakeHooks({ onJobStart: (_worker, view) => void views.push(view) }) })
    await runner(job({ attemptsMade: 1 }))
    assert.deepEqual(views, [{ id: '1', name: 'job', queue: 'queue', data: { n: 1 }, attempt: 2, maxAttempts: 3, timestamp: 5 }])
  })
})
