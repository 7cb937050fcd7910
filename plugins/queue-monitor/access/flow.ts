import type { Job } from 'bullmq'
import type { Queues } from 'zin/plugins/queues'
import { monitorErrors } from '../errors.js'
import { withoutPrefix } from '../jobs/details.js'
import { childrenOf } from '../jobs/flow.js'
import type { Scope } from './scope.js'

/** Limit on the jobs of a flow that are checked; an action on a larger flow requires credentials for all queues. */
const mostJobs = 1_000

/**
 * Throws MONITOR_FORBIDDEN (403) unless the credentials cover the queues of all jobs in the flow of a job, because retrying, cancelling,
 * promoting or deleting it can change any of them. Free for credentials of all queues.
 */
export async function demandFlow(queues: Queues, job: Job, scope: Scope): Promise<void> {
  if (scope.queues === '*') return
  let left = mostJobs
  const read = async (key: string): Promise<Job | undefined> => {
    const short = withoutPrefix(key, job)
    const queue = short.slice(0, short.indexOf(':'))
    if (!scope.sees(queue) || left-- <= 0) {
      throw monitorErrors.MONITOR_FORBIDDEN('This can change other jobs of its flow, in queues that your credentials do not cover')
    }
    return (await queues.job(queue, short.slice(queue.length + 1)))?.job
  }
  let root = job
  while (root.parentKey !== undefined) {
    const parent = await read(root.parentKey)
    // It was removed, and its own parent is unknown to the store, too.
    if (parent === undefined) break
    root = parent
  }
  const open = [root]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { complete, keys } = await childrenOf(next)
    for (const key of keys) {
      const child = await read(key)
      if (child !== undefined) open.push(child)
    }
    if (!complete) throw monitorErrors.MONITOR_FORBIDDEN('This can change other jobs of its flow, which is too large to be checked')
  }
}
