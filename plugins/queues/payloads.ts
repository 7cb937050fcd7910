import type { Job, Processor } from 'bullmq'
import { type Clock, messageOf, type SlotOf, ZinError } from 'zin'
import { loadBullmq } from './bullmq.js'
import type { NewJob } from './contract.js'
import { queueErrors } from './errors.js'
import type { JobAddition, JobTextPart, QueueHooks } from './hooks.js'
import { resultRefusal } from './job-check.js'
import { KeepJobError } from './keep-job.js'

export type PayloadSlots = { readonly [K in keyof QueueHooks]: SlotOf<QueueHooks[K]> }

/** How long a job that cannot be read on this node is delayed, in ms. */
const keptMs = 60_000

/** Passes every payload and text through the hooks, on its way into and out of the store. Hooks without listeners cost nothing. */
export class Payloads {
  readonly #slots: PayloadSlots
  readonly #clock: Clock
  readonly #maxJobBytes: number
  readonly #onKept: (queue: string, error: Error) => void
  readonly #onHookError: (queue: string, plugin: string, error: Error) => void

  /**
   * @param onKept called for each job that is delayed because it cannot be read on this node.
   * @param onHookError called for each listener of `afterJobsAdd` that fails.
   */
  constructor(
    slots: PayloadSlots,
    clock: Clock,
    maxJobBytes: number,
    onKept: (queue: string, error: Error) => void = () => undefined,
    onHookError: (queue: string, plugin: string, error: Error) => void = () => undefined,
  ) {
    this.#onHookError = onHookError
    this.#maxJobBytes = maxJobBytes
    this.#slots = slots
    this.#clock = clock
    this.#onKept = onKept
  }

  /** Whether a hook transforms data before it is stored. */
  get transformsData(): boolean {
    return this.#slots.transformJobData.active
  }

  get transformsTexts(): boolean {
    return this.#slots.transformJobText.active
  }

  /** Returns the jobs as changed by the listeners of `beforeJobsAdd`. Throws what a listener throws to refuse them. */
  async prepare(queue: string, jobs: readonly NewJob[], addition: JobAddition): Promise<readonly NewJob[]> {
    const { beforeJobsAdd } = this.#slots
    if (!beforeJobsAdd.active || jobs.length === 0) return jobs
    try {
      return await beforeJobsAdd.call(jobs, queue, addition)
    } catch (error) {
      throw error instanceof ZinError && error.cause instanceof ZinError ? error.cause : error
    }
  }

  /** Tells the listeners of `afterJobsAdd`. */
  async added(queue: string, jobs: readonly Pick<Job, 'name' | 'opts'>[], addition: JobAddition): Promise<void> {
    const { afterJobsAdd } = this.#slots
    if (!afterJobsAdd.active || jobs.length === 0) return
    const told = jobs.map(({ name, opts }) => ({ name, options: opts }))
    for (const { error, plugin } of await afterJobsAdd.call(told, queue, addition)) this.#onHookError(queue, plugin, error)
  }

  /** Throws JOB_ACTION_DENIED if a listener of `beforeJobUpdate` denies the new data of a job. */
  async admitUpdate(queue: string, job: NewJob): Promise<void> {
    const { beforeJobUpdate } = this.#slots
    if (!beforeJobUpdate.active) return
    const verdict = await beforeJobUpdate.call(job, queue)
    if (verdict.denied) throw verdict.error ?? queueErrors.JOB_ACTION_DENIED(verdict.plugin, verdict.reason)
  }

  /** The data of a job in stored form. Throws JOB_PAYLOAD_UNSTORABLE. */
  async transformData(queue: string, data: unknown): Promise<unknown> {
    const { transformJobData } = this.#slots
    if (!transformJobData.active) return data
    try {
      return await transformJobData.call(data, queue)
    } catch (error) {
      throw unstorable(queue, 'data', error)
    }
  }

  /** Progress in stored form; a number needs no transformation. */
  transformProgress<T>(queue: string, progress: T): Promise<T> {
    return (isPlain(progress) ? Promise.resolve(progress) : this.transformData(queue, progress)) as Promise<T>
  }

  /** The result of a job in stored form. Throws JOB_PAYLOAD_UNSTORABLE. */
  async transformResult(queue: string, result: unknown): Promise<unknown> {
    const { transformJobResult } = this.#slots
    if (!transformJobResult.active) return result
    try {
      return await transformJobResult.call(result, queue)
    } catch (error) {
      throw unstorable(queue, 'result', error)
    }
  }

  /** A text in stored form. Throws JOB_PAYLOAD_UNSTORABLE. */
  async transformText(queue: string, text: string, part: JobTextPart): Promise<string> {
    const { transformJobText } = this.#slots
    if (!transformJobText.active) return text
    try {
      return await transformJobText.call(text, queue, part)
    } catch (error) {
      throw unstorable(queue, part, error)
    }
  }

  /** The original of stored data. Throws JOB_PAYLOAD_UNREADABLE. */
  restoreData(queue: string, data: unknown): Promise<unknown> {
    return this.#restore('data', queue, () => this.#slots.restoreJobData, data)
  }

  /** The original of a stored result. Throws JOB_PAYLOAD_UNREADABLE. */
  restoreResult(queue: string, result: unknown): Promise<unknown> {
    return this.#restore('result', queue, () => this.#slots.restoreJobResult, result)
  }

  /** The original of a stored text. Throws JOB_PAYLOAD_UNREADABLE. */
  async restoreText(queue: string, text: string, part: JobTextPart): Promise<string> {
    const { restoreJobText } = this.#slots
    if (!restoreJobText.active) return text
    try {
      return await restoreJobText.call(text, queue, part)
    } catch (error) {
      throw unreadable(queue, part, error)
    }
  }

  /** The original of a stored text for display, or the reason why it cannot be restored. */
  shownText(queue: string, text: string, part: JobTextPart): Promise<string> {
    return this.restoreText(queue, text, part).catch((error: unknown) => `(${messageOf(error)})`)
  }

  /** Replaces the stored error, stacks and progress of a job by the originals, or by the reason why they cannot be restored. */
  async readable<J extends Job>(job: J): Promise<J> {
    const { queueName } = job
    if (this.#slots.restoreJobText.active) {
      if (job.failedReason) job.failedReason = await this.shownText(queueName, job.failedReason, 'error')
      if (job.stacktrace?.length)
        job.stacktrace = await Promise.all(job.stacktrace.map((stack) => this.shownText(queueName, stack, 'stack')))
    }
    if (this.#slots.restoreJobData.active && !isPlain(job.progress)) {
      job.progress = (await this.restoreData(queueName, job.progress).catch(messageOf)) as Job['progress']
    }
    return job
  }

  /**
   * Wraps a processor: it receives original payloads, and its result passes through the hooks. A payload that cannot be restored or
   * stored fails its job permanently, because another attempt would fail as well, or repeat the work. A `KeepJobError` delays the job.
   */
  around(processor: Processor): Processor {
    const storable = (job: Job, work: Promise<unknown>): Promise<unknown> => work.then((result) => this.#storable(job.queueName, result))
    const run: Processor = (job, token, signal) => {
      const opening = this.#open(job, token)
      // The common path: the only promise is the one for the result.
      if (opening === undefined) return storable(job, Promise.resolve(processor(job, token, signal)))
      return storable(
        job,
        opening.then(() => processor(job, token, signal)),
      )
    }
    // BullMQ creates a signal for each job when the processor declares three parameters.
    return processor.length >= 3 ? (job, token, signal) => run(job, token, signal) : (job, token) => run(job, token)
  }

  async #restore(what: 'data' | 'result', queue: string, slotOf: () => PayloadSlots['restoreJobData'], stored: unknown): Promise<unknown> {
    const slot = slotOf()
    if (!slot.active) return stored
    try {
      return await slot.call(stored, queue)
    } catch (error) {
      throw unreadable(queue, what, error)
    }
  }

  /** Replaces the job's stored data by the original; returns a promise only if a listener does. */
  #open(job: Job, token: string | undefined): Promise<void> | undefined {
    const { restoreJobData } = this.#slots
    if (!restoreJobData.active) return undefined
    const give = (data: unknown): undefined => {
      job.data = data
    }
    const refuse = (error: unknown): Promise<never> => this.#refuse(job, token, unreadable(job.queueName, 'data', error))
    try {
      const data = restoreJobData.pass(job.data, job.queueName)
      return data instanceof Promise ? data.then(give, refuse) : give(data)
    } catch (error) {
      return refuse(error)
    }
  }

  /** Fails a job whose data cannot be restored permanently, or delays it. */
  async #refuse(job: Job, token: string | undefined, error: Error): Promise<never> {
    if (!KeepJobError.isBehind(error)) throw unrecoverable(error)
    await job.moveToDelayed(this.#clock.now() + keptMs, token)
    this.#onKept(job.queueName, error)
    throw new (loadBullmq().DelayedError)()
  }

  /** A result in stored form; a promise only if a listener returns one. */
  #storable(queue: string, result: unknown): unknown {
    const { transformJobResult } = this.#slots
    if (!transformJobResult.active) return this.#checked(queue, result, result)
    const fail = (error: unknown): never => {
      throw unrecoverable(unstorable(queue, 'result', error))
    }
    let stored: unknown
    try {
      stored = transformJobResult.pass(result, queue)
    } catch (error) {
      fail(error)
    }
    return stored instanceof Promise
      ? stored.then((made) => this.#checked(queue, result, made), fail)
      : this.#checked(queue, result, stored)
  }

  /** Throws for a result that not every store can hold, or that is too large. */
  #checked(queue: string, result: unknown, stored: unknown): unknown {
    if (isPlain(stored)) return stored
    const refusal = resultRefusal(queue, result, stored, this.#maxJobBytes)
    if (refusal !== undefined) throw unrecoverable(refusal)
    return stored
  }
}

type Part = 'data' | 'result' | JobTextPart

/** The error with the listener's own message, without the text that the hook adds. */
function unreadable(queue: string, part: Part, error: unknown): Error {
  const said = messageOf(error instanceof ZinError && error.cause instanceof Error ? error.cause : error)
  return queueErrors.JOB_PAYLOAD_UNREADABLE(queue, part, said, error)
}

function unstorable(queue: string, part: Part, error: unknown): Error {
  return queueErrors.JOB_PAYLOAD_UNSTORABLE(queue, part, messageOf(error), error)
}

/** Values that need no check. */
function isPlain(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean'
}

/** Creates an error that BullMQ does not retry; it recognizes the name. */
function unrecoverable(cause: Error): Error {
  const code = cause instanceof ZinError ? { code: cause.code } : {}
  return Object.assign(new Error(cause.message, { cause }), { name: 'UnrecoverableError' }, code)
}
