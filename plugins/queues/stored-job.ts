import type { IQueueBackend, Job, JobsOptions, Queue, QueueEvents } from 'bullmq'
import type { QueueBackend } from './backend.js'
import { retryWait } from './backoff.js'
import { loadBullmq } from './bullmq.js'
import { replacesData } from './deduplication.js'
import { type FailedChild, noLongerExists } from './flows/child-errors.js'
import { failedChild } from './flows/contract.js'
import { checkWrite } from './job-check.js'
import type { Payloads } from './payloads.js'
import { notingReady } from './ready.js'

/** How many stacks a job keeps by default. Without a limit, each failure of a job that is retried many times would write more data. */
const keptStacks = 10

/** Maximum length of the reason of a child in the error of its parent, in characters. */
const mostReason = 2_000

export interface StoredJobParts {
  readonly payloads: Payloads
  readonly maxJobBytes: number
  /** The error of a failed job; undefined if it no longer exists. */
  readonly errorOf: (queue: string, id: string) => Promise<string | undefined>
  /** Removes the error of a child that no longer exists from the jobs above it. Returns whether it no longer exists. */
  readonly forgetIfGone: (child: FailedChild) => Promise<boolean>
  /** Takes back the attempt that the store counts for a job that has failed without running. */
  readonly uncount: (queue: string, id: string) => Promise<void>
  readonly store: () => QueueBackend
}

/** Returns a job class whose writes and reads pass through the payload hooks, for producers and workers. */
export function storedJobClass({ errorOf, forgetIfGone, maxJobBytes, payloads, store, uncount }: StoredJobParts): typeof Job {
  class StoredJob extends loadBullmq().Job {
    /** Times are whole ms, as the embedded store keeps them. */
    constructor(...given: ConstructorParameters<typeof Job>) {
      super(...given)
      this.timestamp = Math.ceil(this.timestamp)
      if (this.opts.delay !== undefined) this.delay = this.opts.delay = Math.ceil(this.opts.delay)
    }

    /** Adds a job. BullMQ cannot replace the data of a waiting job. */
    // biome-ignore lint/suspicious/noExplicitAny: the type of the base class
    static override async create(queue: any, name: any, data: any, opts?: JobsOptions): Promise<any> {
      // biome-ignore lint/complexity/noThisInStatic: the base class creates `new this`
      if (!replacesData(opts?.deduplication)) return super.create(queue, name, data, opts)
      const job = new StoredJob(queue, name, data, opts, opts?.jobId)
      const json = job.asJSON()
      job.id = await store().addReplacing(queue as Queue, json, job.id ?? '')
      return job
    }

    // biome-ignore lint/suspicious/noExplicitAny: the type of the base class
    override async updateData(data: any): Promise<void> {
      checkWrite(this.queueName, 'data', data, maxJobBytes)
      await payloads.admitUpdate(this.queueName, { name: this.name, data, options: { ...this.opts, jobId: this.id ?? '' } })
      if (!payloads.transformsData) return super.updateData(data)
      await this.backend.updateData(this, await payloads.transformData(this.queueName, data))
      this.data = data
    }

    override async updateProgress(progress: Job['progress']): Promise<void> {
      checkWrite(this.queueName, 'progress', progress, maxJobBytes)
      const stored = await payloads.transformProgress(this.queueName, progress)
      if (stored === progress) return super.updateProgress(progress)
      this.progress = progress
      await this.backend.updateProgress(this.id ?? '', stored)
      this.queue.emit('progress', this, progress)
    }

    override async log(row: string): Promise<number> {
      checkWrite(this.queueName, 'log line', row, maxJobBytes)
      const line = payloads.transformsTexts ? await payloads.transformText(this.queueName, String(row), 'log') : String(row)
      const { id = '', queueName, toKey } = this
      const kept = await store().addLog({ queueName, id, toKey }, line, this.backend)
      if (kept === undefined) throw new Error(`Missing key for job ${id}. addLog`)
      return kept
    }

    /**
     * Keeps only the newest stacks. The store receives the transformed texts; listeners of the worker receive the original error, and the
     * original texts on the job.
     */
    // biome-ignore lint/suspicious/noExplicitAny: the type of the base class
    override async moveToFailed<E extends Error>(error: E, token: string, fetchNext?: boolean): Promise<any> {
      // Room for the stack of this error.
      if (this.opts.stackTraceLimit === undefined) this.stacktrace = this.stacktrace?.slice(1 - keptStacks) ?? null
      this.#parentReady()
      const child = error.message === this.deferredFailure ? failedChild(this.deferredFailure) : undefined
      if (child === undefined) return this.#hastened(() => this.storeFailure(error, token, fetchNext))
      const why = await errorOf(child.queue, child.id).catch(() => undefined)
      // BullMQ has made this error, and reports the same object to the listeners of the worker.
      const told = why === undefined ? noLongerExists : `: ${why.slice(0, mostReason).replaceAll(/\p{Surrogate}/gu, '')}`
      error.message = `child ${child.queue}:${child.id} failed${told}`
      error.stack = `${error.name}: ${error.message}`
      const moved = await this.#hastened(() => this.storeFailure(error, token, fetchNext))
      // The child may have been purged between reading its error and storing it.
      const isGone = why !== undefined && (await forgetIfGone({ ...child, parentKey: `${this.queueName}:${this.id}` }).catch(() => false))
      if (isGone) error.message = error.stack = `child ${child.queue}:${child.id} failed${noLongerExists}`
      await uncount(this.queueName, this.id ?? '').catch(() => undefined)
      this.attemptsMade--
      this.attemptsStarted--
      return moved
    }

    // biome-ignore lint/suspicious/noExplicitAny: the type of the base class
    async storeFailure<E extends Error>(error: E, token: string, fetchNext?: boolean): Promise<any> {
      if (!payloads.transformsTexts) return this.#retried(() => super.moveToFailed(error, token, fetchNext))
      const text = async (original: unknown, part: 'error' | 'stack'): Promise<string> =>
        payloads
          .transformText(this.queueName, String(original), part)
          .catch(() => 'the text of this failure could not be prepared for the store')
      const stack = error.stack === undefined ? undefined : await text(error.stack, 'stack')
      // Inherits the class and all fields of the error, because BullMQ and backoff strategies read them.
      const stored = Object.create(error, { message: { value: await text(error.message, 'error') }, stack: { value: stack } }) as E
      const moved = await this.#retried(() => super.moveToFailed(stored, token, fetchNext))
      await payloads.readable(this as Job)
      return moved
    }

    override async moveToDelayed(timestamp: number, token?: string): Promise<void> {
      return this.#noted(() => super.moveToDelayed(timestamp, token))
    }

    // biome-ignore lint/suspicious/noExplicitAny: the type of the base class
    override async moveToCompleted(returnValue: any, token: string, fetchNext?: boolean): Promise<any> {
      this.#parentReady()
      return super.moveToCompleted(returnValue, token, fetchNext)
    }

    override async promote(): Promise<void> {
      await super.promote()
      await store().noteReady(this.toKey(this.id ?? ''))
    }

    override async retry(...given: Parameters<Job['retry']>): Promise<void> {
      await super.retry(...given)
      await store().noteReady(this.toKey(this.id ?? ''))
    }

    /** This child ends, and may be the last one. A failure must not keep it from ending: only a time is missing then. */
    #parentReady(): void {
      if (this.parentKey !== undefined)
        void store()
          .noteReady(this.parentKey)
          .catch(() => undefined)
    }

    /** Runs a failure after which a parent that fails with this child does not wait for its delay, as it does in BullMQ. */
    async #hastened<T>(fail: () => Promise<T>): Promise<T> {
      const moved = await fail()
      if (this.parentKey !== undefined && this.opts.failParentOnFailure === true && this.finishedOn !== undefined)
        await store()
          .flows.hasten(this.parentKey)
          .catch(() => undefined)
      return moved
    }

    /** Runs a failure for which BullMQ reads how long to wait from the options: its own calculation has no maximum. */
    async #retried<T>(fail: () => Promise<T>): Promise<T> {
      const { backoff } = this.opts
      const isOwn = typeof backoff === 'object' && backoff.type !== 'fixed' && backoff.type !== 'exponential'
      if (backoff === undefined || isOwn) return this.#noted(fail)
      return this.#noted(async () => {
        this.opts.backoff = { type: 'fixed', delay: retryWait(backoff, this.attemptsMade + 1, Math.random()) }
        try {
          return await fail()
        } finally {
          this.opts.backoff = backoff
        }
      })
    }

    /** Runs a move to another state, and stores with it when the job will be ready again. */
    async #noted<T>(move: () => Promise<T>): Promise<T> {
      const { backend } = this
      this.backend = notingReady(backend, { ...this.opts })
      try {
        return await move()
      } finally {
        this.backend = backend
      }
    }

    // biome-ignore lint/suspicious/noExplicitAny: the type of the base class
    override async getChildrenValues<C = any>(): Promise<{ [key: string]: C }> {
      const values = Object.entries(await super.getChildrenValues())
      const restored = values.map(async ([child, value]) => [child, await payloads.restoreResult(queueOf(child), value)] as const)
      return Object.fromEntries(await Promise.all(restored)) as { [key: string]: C }
    }

    override async getIgnoredChildrenFailures(): Promise<{ [key: string]: string }> {
      const failures = Object.entries(await super.getIgnoredChildrenFailures())
      const restored = failures.map(async ([child, text]) => [child, await payloads.shownText(queueOf(child), text, 'error')] as const)
      return Object.fromEntries(await Promise.all(restored))
    }

    // biome-ignore lint/suspicious/noExplicitAny: the type of the base class
    override async waitUntilFinished<B extends IQueueBackend, C>(events: QueueEvents<any, B, C>, ttlMs?: number): Promise<any> {
      const result = await super.waitUntilFinished(events, ttlMs).catch(async (error: Error) => {
        throw new Error(await payloads.shownText(this.queueName, error.message, 'error'), { cause: error })
      })
      return payloads.restoreResult(this.queueName, result)
    }
  }
  // The base class is generic in types that do not concern what is overridden.
  return StoredJob as unknown as typeof Job
}

/** The queue of a child, from its key: `<prefix>:<queue>:<id>` on Redis, `<queue>:<id>` on the embedded store. */
function queueOf(child: string): string {
  return child.split(':').at(-2) ?? ''
}

/** Makes a queue, worker or flow producer use a class for its jobs. BullMQ reads it from this property. */
export function useJobClass<T extends object>(owner: T, jobClass: typeof Job): T {
  return Object.defineProperty(owner, 'Job', { value: jobClass })
}
