import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, afterEach, before, beforeEach } from 'node:test'
import type { Job, Worker } from 'bullmq'
import { systemClock } from 'zin'
import { type Queues, queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { Counters } from '../../node/counters.js'
import { jobRunner } from '../../node/run-job.js'
import { RunningJobs } from '../../node/running-jobs.js'
import type { WorkerProcessor } from '../../processors/processor.js'
import type { WorkerRecord } from '../../record/record.js'
import { workerRecord } from '../../testing/worker-record.js'
import type { CancelRequest } from '../cancel.js'
import { WorkerJobs } from '../jobs.js'
import { fakeHooks } from './fake-hooks.js'

/** A processor that fails as soon as its signal is aborted, and not before. */
export const listening: WorkerProcessor = (_job, _token, signal) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('heard it')), { once: true }))

/** The jobs of one worker on a queue of its own for each test, with real BullMQ workers on the store of the environment. */
export class JobLab {
  host!: TestHost
  store!: Queues
  record!: WorkerRecord
  queue = ''
  hooks = fakeHooks()
  counters = new Counters()
  /** What other processes were asked to cancel, and what they say. */
  asked: CancelRequest[] = []
  elsewhere = (_request: CancelRequest): boolean => false
  #opened: Worker[] = []
  readonly #running = new WeakMap<Worker, RunningJobs>()

  /** Registers its set-up and its end with the suite it is made in. */
  constructor(env: Readonly<Record<string, string>>) {
    let count = 0
    before(async () => {
      this.host = await createTestHost({ plugins: [queues()], env: { ...env, APP_NAME: `jobs-${randomUUID().slice(0, 8)}` } })
      this.store = this.host.service(queuesService)
    })
    after(() => this.host.stop())
    beforeEach(() => {
      this.queue = `jobs-${++count}`
      this.record = this.recordOf(this.queue)
      this.hooks = fakeHooks()
      this.counters = new Counters()
      this.asked = []
      this.elsewhere = () => false
      this.#opened = []
    })
    afterEach(async () => {
      await Promise.all(this.#opened.map((worker) => worker.close()))
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
      cancelLocal: (name, id, reason) => this.#opened.some((worker) => worker.name === name && this.runningIn(worker).cancel(id, reason)),
      cancelElsewhere: async (request) => {
        this.asked.push(request)
        return this.elsewhere(request)
      },
    })
  }

  /** A worker as a node runs it. */
  work(processor: WorkerProcessor, of: WorkerRecord = this.record, version = '1.0.0'): Worker {
    const running = new RunningJobs(systemClock)
    const runner = jobRunner({
      workerName: of.name,
      select: () => ({ version, run: processor }),
      counters: this.counters,
      running,
      clock: systemClock,
      hooks: this.hooks,
      defaults: () => of.jobOptions,
    })
    const worker = this.store.worker(of.queueName, runner, {
      concurrency: of.concurrency,
      ...(of.rateLimit !== null && { limiter: of.rateLimit }),
    })
    worker.on('error', () => undefined)
    this.#opened.push(worker)
    this.#running.set(worker, running)
    return worker
  }

  runningIn(worker: Worker): RunningJobs {
    return this.#running.get(worker) ?? assert.fail('a worker of another test')
  }

  completed(worker: Worker): Promise<[Job, unknown]> {
    return once(worker, 'completed') as Promise<[Job, unknown]>
  }

  failed(worker: Worker): Promise<[Job, Error]> {
    return once(worker, 'failed') as Promise<[Job, Error]>
  }

  times(worker: Worker, event: 'completed' | 'failed', n: number): Promise<void> {
    return new Promise((resolve) => {
      let left = n
      worker.on(event, () => {
        if (--left === 0) resolve()
      })
    })
  }

  /** What was counted since the last call, without times. */
  counted() {
    return this.counters.drain().map(({ totalMs: _, ...counts }) => counts)
  }
}
