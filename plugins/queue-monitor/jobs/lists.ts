import type { Job } from 'bullmq'
import type { Queues } from 'zin/plugins/queues'
import type { Scope } from '../access/scope.js'
import type { JobDetails, JobListQuery, JobPage, ListedStatus } from '../contract.js'
import { monitorErrors } from '../errors.js'
import { existingQueue, seenQueues } from './find.js'
import type { PayloadViews } from './payloads.js'

/** A range of the job list of one queue. */
export interface Slice {
  readonly queue: string
  readonly offset: number
  readonly limit: number
}

/** Returns the ranges that make up a page of the concatenated job lists of several queues. Pure. */
export function slicesOf(totals: readonly (readonly [queue: string, total: number])[], offset: number, limit: number): readonly Slice[] {
  const slices: Slice[] = []
  let before = 0
  let left = limit
  for (const [queue, total] of totals) {
    const from = Math.max(0, offset - before)
    before += total
    if (from >= total || left <= 0) continue
    const count = Math.min(left, total - from)
    slices.push({ queue, offset: from, limit: count })
    left -= count
  }
  return slices
}

/** Limit on the payloads read for one page, in bytes, and how many are read at a time, because each may be as large as a job. */
const mostPayloadBytes = 8 * 1024 * 1024
const payloadsAtOnce = 5

/**
 * Returns a page of the jobs in one state. Reads only the jobs on the page and the counts of the queues. Payloads beyond a limit are left
 * out and marked as truncated.
 */
export async function listJobs(
  { queues, views }: { readonly queues: Queues; readonly views: PayloadViews },
  status: ListedStatus,
  { limit = 20, page = 1, payload = false, queue }: JobListQuery,
  scope: Scope,
): Promise<JobPage> {
  const names = queue === undefined ? await seenQueues(queues, scope) : [await existingQueue(queues, queue, scope)]
  const samples = await queues.sample(names)
  const broken = queue === undefined ? undefined : samples.get(queue)?.broken
  if (broken !== undefined) throw monitorErrors.QUEUE_BROKEN(broken)
  const totals = names.map((name) => [name, samples.get(name)?.counts[status] ?? 0] as const)
  const total = totals.reduce((sum, [, count]) => sum + count, 0)
  const slices = slicesOf(totals, (page - 1) * limit, limit)
  const jobs: JobDetails[] = []
  const list = views.lister(scope)
  let bytes = payload ? 0 : mostPayloadBytes
  for (const slice of slices) {
    const end = slice.offset + slice.limit
    for (let offset = slice.offset; offset < end; ) {
      const reads = bytes < mostPayloadBytes
      const wanted = reads ? Math.min(payloadsAtOnce, end - offset) : end - offset
      const found: readonly Job[] = await queues.list(slice.queue, status, { offset, limit: wanted, payload: reads })
      for (const job of found) {
        const shown = reads ? await views.show(job, scope) : undefined
        bytes += shown?.payloadBytes ?? 0
        jobs.push({ ...(await list(job, status, shown)), ...(payload && !reads && { payloadTruncated: true }) })
      }
      if (found.length < wanted) break
      offset += wanted
    }
  }
  return { jobs, pagination: { page, limit, total, totalPages: Math.ceil(total / limit) } }
}
