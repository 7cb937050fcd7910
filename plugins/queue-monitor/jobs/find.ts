import { ZinError } from 'zin'
import type { QueueJob, Queues } from 'zin/plugins/queues'
import type { Scope } from '../access/scope.js'
import { monitorErrors } from '../errors.js'

/** Queues searched concurrently. */
const atOnce = 25

/** Returns the names of the queues the caller can see. */
export async function seenQueues(queues: Queues, scope: Scope): Promise<readonly string[]> {
  return (await queues.names()).filter((name) => scope.sees(name))
}

/** Returns the queue name. Throws QUEUE_NOT_FOUND (404) if the queue does not exist or the caller cannot see it. */
export async function existingQueue(queues: Queues, queue: string, scope: Scope): Promise<string> {
  if (!scope.sees(queue) || !(await queues.names()).includes(queue)) throw monitorErrors.QUEUE_NOT_FOUND(queue)
  return queue
}

/**
 * Finds a job by id, in one queue or in all queues the caller can see; `id` may be `<queue>:<id>`. 404 JOB_NOT_FOUND, 409 AMBIGUOUS_JOB_ID.
 */
export async function findJob(queues: Queues, id: string, queue: string | undefined, scope: Scope): Promise<QueueJob> {
  const seen = await seenQueues(queues, scope)
  const look = async (name: string, jobId: string): Promise<QueueJob | undefined> =>
    seen.includes(name) && jobId.length <= 200 ? queues.job(name, jobId) : undefined
  if (queue !== undefined) {
    const found = await look(queue, id)
    if (found === undefined) throw monitorErrors.JOB_NOT_FOUND(id)
    return found
  }
  const colon = id.indexOf(':')
  const named = colon > 0 ? await look(id.slice(0, colon), id.slice(colon + 1)) : undefined
  if (named !== undefined) return named
  const found: QueueJob[] = []
  let broken: Error | undefined
  const lookUnlessBroken = (name: string): Promise<QueueJob | undefined> =>
    look(name, id).catch((error: unknown) => {
      if (!isBroken(error)) throw error
      broken = error
      return undefined
    })
  for (let from = 0; from < seen.length; from += atOnce) {
    const jobs = await Promise.all(seen.slice(from, from + atOnce).map(lookUnlessBroken))
    found.push(...jobs.filter((job) => job !== undefined))
  }
  const [first] = found
  // The job may be in a queue that could not be read.
  if (first === undefined && broken !== undefined) throw broken
  if (first === undefined) throw monitorErrors.JOB_NOT_FOUND(id)
  if (found.length > 1) {
    throw monitorErrors.AMBIGUOUS_JOB_ID(
      id,
      found.map(({ job }) => job.queueName),
    )
  }
  return first
}

/** Whether one queue cannot be read, and others can. */
const isBroken = (error: unknown): error is ZinError => error instanceof ZinError && error.code === 'QUEUE_BROKEN'
