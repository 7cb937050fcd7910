import type { Job } from 'bullmq'
import { messageOf, type SlotOf } from 'zin'
import { resultFault } from 'zin/plugins/queues'
import { workerErrors } from '../errors.js'
import type { WorkerHooks } from '../hooks.js'

/** The hooks that see every payload on its way into the store and out of it. Each costs nothing when nobody listens. */
export type PayloadSlots = {
  readonly [K in 'transformJobData' | 'restoreJobData' | 'transformJobResult' | 'restoreJobResult']: SlotOf<WorkerHooks[K]>
}

/** The result as the processor gave it, on a job whose stored result is another one. */
const plainResult = Symbol('plain result')

/** On a job whose data are as they were added. */
const opened = Symbol('opened')

/** What is stored of a job's data. */
export async function storedData(data: unknown, worker: string, { transformJobData }: PayloadSlots): Promise<unknown> {
  if (!transformJobData.active) return data
  try {
    return await transformJobData.call(data, worker)
  } catch (error) {
    throw workerErrors.JOB_PAYLOAD_UNSTORABLE(worker, 'data', messageOf(error))
  }
}

/** Gives a job its data as they were added, unless it has them. Throws JOB_PAYLOAD_UNREADABLE. */
export async function openData(job: Job, worker: string, { restoreJobData }: Pick<PayloadSlots, 'restoreJobData'>): Promise<void> {
  if (!restoreJobData.active || opened in job) return
  try {
    job.data = await restoreJobData.call(job.data, worker)
    Object.defineProperty(job, opened, { value: true })
  } catch (error) {
    throw workerErrors.JOB_PAYLOAD_UNREADABLE(worker, 'data', messageOf(error))
  }
}

/** The data of a job as they are stored, whether it was given them as they were added or not. */
export async function sealedData(job: Job, worker: string, slots: PayloadSlots): Promise<unknown> {
  return opened in job ? storedData(job.data, worker, slots) : job.data
}

/**
 * Gives a job about to run its data as they were added. What its processor then reads and writes of payloads, its own data and
 * its children's results, goes through the hooks as well.
 */
export async function openJob(job: Job, worker: string, slots: PayloadSlots): Promise<void> {
  await openData(job, worker, slots).catch((error: Error) => Promise.reject(unrecoverable(error)))
  if (slots.transformJobData.active) {
    const update = job.updateData.bind(job)
    job.updateData = async (data) => {
      await update(await storedData(data, worker, slots))
      job.data = data
    }
  }
  if (slots.restoreJobResult.active) {
    const read = job.getChildrenValues.bind(job)
    job.getChildrenValues = async <T>() => {
      const values = Object.entries(await read()).map(
        async ([key, value]) => [key, (await shownResult(value, worker, slots)) as T] as const,
      )
      return Object.fromEntries(await Promise.all(values))
    }
  }
}

/** What is stored of a job's result. The job is done, so that a failure is final: another run would do it twice. */
export async function storedResult(job: Job, result: unknown, worker: string, slots: PayloadSlots): Promise<unknown> {
  return checkedResult(await transformed(job, result, worker, slots), worker)
}

/** {@link storedResult} where no listener transforms results: nothing is waited for. */
export function checkedResult(result: unknown, worker: string): unknown {
  const fault = isPlain(result) ? undefined : resultFault(result)
  if (fault !== undefined) throw unstorable(worker, fault)
  return result
}

async function transformed(job: Job, result: unknown, worker: string, { transformJobResult }: PayloadSlots): Promise<unknown> {
  try {
    const stored = await transformJobResult.call(result, worker)
    Object.defineProperty(job, plainResult, { value: result, configurable: true })
    return stored
  } catch (error) {
    throw unstorable(worker, messageOf(error))
  }
}

/** What is JSON without a look at it. */
function isPlain(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean'
}

function unstorable(worker: string, why: string): Error {
  return unrecoverable(workerErrors.JOB_PAYLOAD_UNSTORABLE(worker, 'result', why))
}

/** The result that a processor gave, from what BullMQ says was stored. */
export function givenResult(job: Job, stored: unknown): unknown {
  return plainResult in job ? job[plainResult] : stored
}

/** A stored result as it was given. */
export async function shownResult(stored: unknown, worker: string, { restoreJobResult }: PayloadSlots): Promise<unknown> {
  if (!restoreJobResult.active) return stored
  try {
    return await restoreJobResult.call(stored, worker)
  } catch (error) {
    throw workerErrors.JOB_PAYLOAD_UNREADABLE(worker, 'result', messageOf(error))
  }
}

/** BullMQ knows by the name that it must not try again. */
export function unrecoverable(cause: Error, message = cause.message): Error {
  const error = new Error(message, { cause })
  error.name = 'UnrecoverableError'
  return error
}
