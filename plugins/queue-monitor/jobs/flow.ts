import type { Job } from 'bullmq'
import type { QueueJob, Queues } from 'zin/plugins/queues'
import type { Scope } from '../access/scope.js'
import type { JobFlow, JobFlowNode } from '../contract.js'
import { statusOf } from './details.js'
import { findJob } from './find.js'

/** Jobs above the given one, children of one job, and jobs of a whole flow that are read at most. */
const mostLevels = 20
const mostChildren = 50
const mostJobs = 300

/** The whole flow that a job belongs to, from its root. Jobs of queues that the caller must not see are counted and not shown. */
export async function flowOf(queues: Queues, id: string, queue: string | undefined, scope: Scope): Promise<JobFlow> {
  const given = await findJob(queues, id, queue, scope)
  const read = async (key: string): Promise<QueueJob | undefined> => {
    const { id: jobId, queue: name } = partsOf(key)
    return scope.sees(name) ? queues.job(name, jobId) : undefined
  }
  let root = given
  for (let level = 0; level < mostLevels && root.job.parentKey !== undefined; level++) {
    const parent = await read(root.job.parentKey)
    if (parent === undefined) break
    root = parent
  }
  let left = mostJobs - 1
  const nodeOf = async ({ job, state }: QueueJob, level: number): Promise<JobFlowNode> => {
    const keys = level < mostLevels ? await childrenOf(job) : []
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

/** Keys of the children that still exist or existed, each once. */
export async function childrenOf(job: Job): Promise<readonly string[]> {
  const count = mostChildren * 4
  const part = { cursor: 0, count }
  const { failed, ignored, processed, unprocessed } = await job.getDependencies({
    failed: part,
    ignored: part,
    processed: part,
    unprocessed: part,
  })
  return [...new Set([...(unprocessed ?? []), ...Object.keys(processed ?? {}), ...(failed ?? []), ...Object.keys(ignored ?? {})])]
}

/** A key ends in `<queue>:<id>`. */
function partsOf(key: string): { readonly queue: string; readonly id: string } {
  const [queue = '', id = ''] = key.split(':').slice(-2)
  return { queue, id }
}
