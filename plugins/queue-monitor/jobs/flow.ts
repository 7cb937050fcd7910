import type { Job } from 'bullmq'
import type { QueueJob, Queues } from 'zin/plugins/queues'
import type { Scope } from '../access/scope.js'
import type { JobFlow, JobFlowNode } from '../contract.js'
import { statusOf, withoutPrefix } from './details.js'
import { findJob } from './find.js'

/** Limits: levels above the given job, children per job, and jobs per flow. */
const mostLevels = 20
const mostChildren = 50
const mostJobs = 300

/** Returns the flow of a job, starting at its root. Jobs of queues the caller cannot see are counted but not shown. */
export async function flowOf(queues: Queues, id: string, queue: string | undefined, scope: Scope): Promise<JobFlow> {
  const given = await findJob(queues, id, queue, scope)
  const read = async (key: string): Promise<QueueJob | undefined> => {
    const short = withoutPrefix(key, given.job)
    const name = short.slice(0, short.indexOf(':'))
    return scope.sees(name) ? queues.job(name, short.slice(name.length + 1)) : undefined
  }
  let root = given
  for (let level = 0; level < mostLevels && root.job.parentKey !== undefined; level++) {
    const parent = await read(root.job.parentKey)
    if (parent === undefined) break
    root = parent
  }
  let left = mostJobs - 1
  const nodeOf = async ({ job, state }: QueueJob, level: number): Promise<JobFlowNode> => {
    const { keys } = level < mostLevels ? await childrenOf(job) : { keys: [] }
    const shown = keys.slice(0, Math.min(mostChildren, left))
    left -= shown.length
    const jobs = (await Promise.all(shown.map(read))).filter((one) => one !== undefined)
    const children: JobFlowNode[] = []
    for (const child of jobs) children.push(await nodeOf(child, level + 1))
    return {
      id: job.id ?? '',
      queue: job.queueName,
      name: job.name,
      status: statusOf(state),
      state,
      children,
      more: keys.length - jobs.length,
    }
  }
  return { id: given.job.id ?? '', queue: given.job.queueName, root: await nodeOf(root, 0) }
}

/** Returns the keys of the children, including finished ones, without duplicates, and whether these are all of them. */
export async function childrenOf(job: Job): Promise<{ readonly keys: readonly string[]; readonly complete: boolean }> {
  const count = mostChildren * 4
  const part = { cursor: 0, count }
  const found = await job.getDependencies({ failed: part, ignored: part, processed: part, unprocessed: part })
  const { failed, ignored, processed, unprocessed } = found
  const { nextIgnoredCursor, nextProcessedCursor, nextUnprocessedCursor } = found
  return {
    keys: [...new Set([...(unprocessed ?? []), ...Object.keys(processed ?? {}), ...(failed ?? []), ...Object.keys(ignored ?? {})])],
    // The cursor of failed children is an offset, which does not return to 0.
    complete:
      (failed?.length ?? 0) < count &&
      [nextIgnoredCursor, nextProcessedCursor, nextUnprocessedCursor].every((cursor) => Number(cursor ?? 0) === 0),
  }
}
