import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, beforeEach } from 'node:test'
import { type ListenerOf, systemClock } from 'zin'
import { type CancelRequest, type QueueHooks, type Queues, queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, memoryLogger, type TestHost } from 'zin/testing'
import type { Attempt } from '../../node/attempt.js'
import { AttemptRecords } from '../../node/attempt-records.js'
import { Counters } from '../../node/counters.js'
import type { JobMiddleware } from '../../node/job-middleware.js'
import { jobRunner } from '../../node/run-job.js'
import { RunningJobs } from '../../node/running-jobs.js'
import { TimeLimits } from '../../node/time-limit.js'
import type { WorkerProcessor } from '../../processors/processor.js'
import type { WorkerRecord } from '../../record/record.js'
import { workerRecord } from '../../testing/worker-record.js'
import { WorkerJobs } from '../jobs.js'
import { fakeHooks } from './fake-hooks.js'
import { LabWorker } from './lab-worker.js'

/** A processor that fails when its signal is aborted. */
export const listening: WorkerProcessor = (_job, _token, signal) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('heard it')), { once: true }))

type PayloadListeners = { readonly [K in keyof QueueHooks]?: ListenerOf<QueueHooks[K]> }

/** The jobs of one worker, with a separate queue per test, consumed as on a node, in the store that the environment selects. */
export class JobLab {
  host!: TestHost
  store!: Queues
  record!: WorkerRecord
  queue = ''
  hooks = fakeHooks()
  /** Listeners of the payload hooks. */
  payloads: PayloadListeners = {}
  middlewares: readonly JobMiddleware[] = []
  counters = new Counters()
  logs = memoryLogger()
  /** Cancel requests to other processes, and their reply. */
  asked: CancelRequest[] = []
  elsewhere = (_request: CancelRequest): boolean => false
  jobLockMs = 30_000
  maxStalls = 3
  #opened: { readonly queue: string; readonly worker: LabWorker; readonly cancel: (id: string, reason: string) => boolean }[] = []

  /** Registers its setup and teardown with the current suite. */
  constructor(env: Readonly<Record<string, string>>) {
    let count = 0
    before(async () => {
      this.host = await createTestHost({
        plugins: [queues()],
        hooks: {
          transformJobData: (data, queue) => this.payloads.transformJobData?.(data, queue),
          restoreJobData: (data, queue) => this.payloads.restoreJobData?.(data, queue),
          transformJobResult: (result, queue) => this.payloads.transformJobResult?.(result, queue),
          restoreJobResult: (result, queue) => this.payloads.restoreJobResult?.(result, queue),
        },
        env: { ...env, APP_NAME: `jobs-${randomUUID().slice(0, 8)}` },
      })
      this.store = this.host.service(queuesService)
      this.store.addCanceller({
        here: ({ queue: name, job, reason }) => this.#opened.some(({ queue, cancel }) => queue === name && cancel(job, reason)),
        elsewhere: async (request) => {
          this.asked.push(request)
          return this.elsewhere(request)
        },
      })
    })
    after(() => this.host.stop())
    beforeEach(() => {
      this.queue = `jobs-${++count}`
      this.record = this.recordOf(this.queue)
      this.hooks = fakeHooks()
      this.payloads = {}
      this.middlewares = []
      this.counters = new Counters()
      this.logs = memoryLogger()
      this.asked = []
      this.elsewhere = () => false
      this.jobLockMs = 30_000
      this.maxStalls = 3
      this.#opened = []
    })
    afterEach(async () => {
      await Promise.all(this.#opened.map(({ worker }) => worker.close({ drainMs: 0, cancelMs: 0 })))
    })
  }

  recordOf(name: string, more: Partial<WorkerRecord> = {}): WorkerRecord {
    return workerRecord(name, { jobOptions: { attempts: 1, backoff: { type: 'fixed', delay: 10 } }, ...more })
  }

  jobs(): WorkerJobs {
    return new WorkerJobs({
      queues: this.store,
      hooks: this.hooks,
      clock: systemClock,
      defaults: { attempts: 3, priority: 1 },
      connectionTimeout: 5000,
    })
  }

  /** A worker as a node runs it. */
  work(processor: WorkerProcessor, of: WorkerRecord = this.record, version = '1.0.0'): LabWorker {
    let cancel = (_id: string, _reason: string): boolean => false
    const worker = new LabWorker(of, {
      queues: this.store,
      clock: systemClock,
      log: this.logs,
      connectionTimeout: 5000,
      jobLockMs: this.jobLockMs,
      maxStalls: this.maxStalls,
      hooks: this.hooks,
      makeAttempts: (hooks) => {
        const running = new RunningJobs(systemClock)
        const timeLimits = new TimeLimits(systemClock)
        cancel = (id, reason) => running.cancel(id, reason)
        const shared = {
          worker: of.name,
          node: 'node-1',
          queue: of.queueName,
          queues: this.store,
          hooks,
          running,
          counters: this.counters,
          clock: systemClock,
          log: this.logs,
          context: new AsyncLocalStorage<Attempt>(),
        }
        const records = new AttemptRecords({ ...shared, lostVersion: async () => version, onDead: () => undefined })
        const run = jobRunner({
          ...shared,
          records,
          timeLimits,
          select: () => ({ version, run: processor }),
          middlewares: () => this.middlewares,
          defaults: () => of.jobOptions,
        })
        return { run, running, records, timeLimits }
      },
    })
    this.#opened.push({ queue: of.queueName, worker, cancel: (id, reason) => cancel(id, reason) })
    return worker
  }

  /** Nonzero counts since the last call, without times. */
  counted(): readonly object[] {
    return this.counters.drain().map(({ totalMs: _, durations: _times, ...counts }) => {
      return Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== 0))
    })
  }
}
