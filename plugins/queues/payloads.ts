import type { Job, Processor } from 'bullmq'
import { messageOf, type SlotOf } from 'zin'
import { queueErrors } from './errors.js'
import type { QueueHooks } from './hooks.js'
import { resultFault } from './job-check.js'

export type PayloadSlots = { readonly [K in keyof QueueHooks]: SlotOf<QueueHooks[K]> }

/** Passes every payload through the hooks, on its way into and out of the store. Hooks without listeners cost nothing. */
export class Payloads {
  readonly #slots: PayloadSlots

  constructor(slots: PayloadSlots) {
    this.#slots = slots
  }

  /** Whether a hook transforms data before it is stored. */
  get transformsData(): boolean {
    return this.#slots.transformJobData.active
  }

  /** The data of a job in stored form. Throws JOB_PAYLOAD_UNSTORABLE. */
  async transformData(queue: string, data: unknown): Promise<unknown> {
    const { transformJobData } = this.#slots
    if (!transformJobData.active) return data
    try {
      return await transformJobData.call(data, queue)
    } catch (error) {
      throw queueErrors.JOB_PAYLOAD_UNSTORABLE(queue, 'data', messageOf(error))
    }
  }

  /** The original of stored data. Throws JOB_PAYLOAD_UNREADABLE. */
  restoreData(queue: string, data: unknown): Promise<unknown> {
    return this.#restore('restoreJobData', queue, 'data', data)
  }

  /** The original of a stored result. Throws JOB_PAYLOAD_UNREADABLE. */
  restoreResult(queue: string, result: unknown): Promise<unknown> {
    return this.#restore('restoreJobResult', queue, 'result', result)
  }

  /**
   * Wraps a processor: it receives original payloads, and its result passes through the hooks. A payload that cannot be restored or
   * stored fails its job permanently: another attempt would fail as well, or repeat the work.
   */
  around(processor: Processor): Processor {
    const { restoreJobData, restoreJobResult, transformJobData, transformJobResult } = this.#slots
    const through: Processor = async (job, token, signal) => {
      await this.#open(job)
      return this.#storable(job.queueName, await processor(job, token, signal))
    }
    const run: Processor = (job, token, signal) => {
      if (restoreJobData.active || restoreJobResult.active || transformJobData.active || transformJobResult.active)
        return through(job, token, signal)
      // The common path: no extra turns of the event loop.
      return Promise.resolve(processor(job, token, signal)).then((result) => checked(job.queueName, result))
    }
    // BullMQ creates a signal for each job when the processor declares three parameters.
    return processor.length >= 3 ? (job, token, signal) => run(job, token, signal) : (job, token) => run(job, token)
  }

  async #restore(hook: 'restoreJobData' | 'restoreJobResult', queue: string, what: string, stored: unknown): Promise<unknown> {
    const slot = this.#slots[hook]
    if (!slot.active) return stored
    try {
      return await slot.call(stored, queue)
    } catch (error) {
      throw queueErrors.JOB_PAYLOAD_UNREADABLE(queue, what, messageOf(error))
    }
  }

  /** Wraps the job, so that the data that its processor writes and the child results that it reads also pass through the hooks. */
  async #open(job: Job): Promise<void> {
    const { queueName } = job
    try {
      job.data = await this.restoreData(queueName, job.data)
    } catch (error) {
      throw unrecoverable(error as Error)
    }
    if (this.transformsData) {
      const update = job.updateData.bind(job)
      job.updateData = async (data) => {
        await update(await this.transformData(queueName, data))
        job.data = data
      }
    }
    if (!this.#slots.restoreJobResult.active) return
    const read = job.getChildrenValues.bind(job)
    job.getChildrenValues = async <T>() => {
      const values = Object.entries(await read()).map(
        async ([child, value]) => [child, (await this.restoreResult(queueOf(child), value)) as T] as const,
      )
      return Object.fromEntries(await Promise.all(values))
    }
  }

  async #storable(queue: string, result: unknown): Promise<unknown> {
    const { transformJobResult } = this.#slots
    if (!transformJobResult.active) return checked(queue, result)
    let stored: unknown
    try {
      stored = await transformJobResult.call(result, queue)
    } catch (error) {
      throw unrecoverable(queueErrors.JOB_PAYLOAD_UNSTORABLE(queue, 'result', messageOf(error)))
    }
    return checked(queue, stored)
  }
}

/** The queue of a child, from its key: `<prefix>:<queue>:<id>` on Redis, `<queue>:<id>` on the embedded store. */
function queueOf(child: string): string {
  return child.split(':').at(-2) ?? ''
}

/** Throws for a result that some store cannot store. */
function checked(queue: string, result: unknown): unknown {
  const fault = isPlain(result) ? undefined : resultFault(result)
  if (fault !== undefined) throw unrecoverable(queueErrors.JOB_PAYLOAD_UNSTORABLE(queue, 'result', fault))
  return result
}

/** Values that need no check. */
function isPlain(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean'
}

/** BullMQ recognizes by the name that it must not retry. */
function unrecoverable(cause: Error): Error {
  const error = new Error(cause.message, { cause })
  error.name = 'UnrecoverableError'
  return error
}
