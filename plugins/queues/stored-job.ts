import type { IQueueBackend, Job, QueueEvents } from 'bullmq'
import { loadBullmq } from './bullmq.js'
import { checkWrite } from './job-check.js'
import type { Payloads } from './payloads.js'

/** How many stacks a job keeps by default. Without a limit, each failure of a job that is retried many times would write more data. */
const keptStacks = 10

/** Returns a job class whose writes and reads pass through the payload hooks, for producers and workers. */
export function storedJobClass(payloads: Payloads, maxJobBytes: number): typeof Job {
  class StoredJob extends loadBullmq().Job {
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
      return super.log(payloads.transformsTexts ? await payloads.transformText(this.queueName, String(row), 'log') : row)
    }

    /**
     * Keeps only the newest stacks. The store receives the transformed texts; listeners of the worker receive the original error, and the
     * original texts on the job.
     */
    // biome-ignore lint/suspicious/noExplicitAny: the type of the base class
    override async moveToFailed<E extends Error>(error: E, token: string, fetchNext?: boolean): Promise<any> {
      // Room for the stack of this error.
      if (this.opts.stackTraceLimit === undefined) this.stacktrace = this.stacktrace?.slice(1 - keptStacks) ?? null
      if (!payloads.transformsTexts) return super.moveToFailed(error, token, fetchNext)
      const text = async (original: unknown, part: 'error' | 'stack'): Promise<string> =>
        payloads
          .transformText(this.queueName, String(original), part)
          .catch(() => 'the text of this failure could not be prepared for the store')
      const stack = error.stack === undefined ? undefined : await text(error.stack, 'stack')
      // Inherits the class and all fields of the error, because BullMQ and backoff strategies read them.
      const stored = Object.create(error, { message: { value: await text(error.message, 'error') }, stack: { value: stack } }) as E
      const moved = await super.moveToFailed(stored, token, fetchNext)
      await payloads.readable(this as Job)
      return moved
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
