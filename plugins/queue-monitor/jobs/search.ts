import type { Job } from 'bullmq'
import type { Queues } from 'zin/plugins/queues'
import type { Scope } from '../access/scope.js'
import type { JobDetails, ListedStatus } from '../contract.js'
import { monitorErrors } from '../errors.js'
import { detailsOf } from './details.js'
import { existingQueue, seenQueues } from './find.js'

/** Most jobs that one search reads, and how many of them at once. */
const mostRead = 2_000
const readAtOnce = 100
/** Most queues that are searched for an exact id. */
const atOnce = 25
const statuses: readonly ListedStatus[] = ['active', 'failed', 'waiting', 'delayed', 'completed']
const fields = ['id', 'name', 'error'] as const

/** One part of a search: text in one field, or in any. */
export interface Term {
  readonly field: (typeof fields)[number] | 'any'
  readonly text: string
}

export interface SearchResult {
  readonly jobs: readonly JobDetails[]
  /** How far the search looked: jobs read, of those in the queues and states; `complete` when it read all of them. */
  readonly searched: { readonly jobs: number; readonly of: number; readonly complete: boolean; readonly queues: number }
}

export interface SearchQuery {
  readonly q: string
  readonly queue?: string
  readonly status?: ListedStatus
  readonly limit: number
}

/** `name:welcome error:timeout 42` → its terms; quotes keep spaces. Throws INVALID_JOB_FILTER. */
export function termsOf(q: string): readonly Term[] {
  const words = q.match(/(?:[a-z]+:)?"[^"]*"|\S+/g) ?? []
  const terms = words.map((word): Term => {
    const [, prefix, rest = ''] = /^([a-z]+):(.*)$/s.exec(word) ?? []
    const field = fields.find((one) => one === prefix)
    const text = (field === undefined ? word : rest).replace(/^"(.*)"$/s, '$1').toLowerCase()
    return { field: field ?? 'any', text }
  })
  if (terms.length === 0 || terms.some(({ text }) => text === '')) {
    throw monitorErrors.INVALID_JOB_FILTER('q holds no text; write words, or name:…, error:… and id:…')
  }
  return terms
}

/** Whether a job has every term. */
export function matches(job: Pick<Job, 'id' | 'name' | 'failedReason'>, terms: readonly Term[]): boolean {
  const texts = { id: job.id ?? '', name: job.name, error: job.failedReason ?? '' }
  return terms.every(({ field, text }) =>
    (field === 'any' ? fields : [field]).some((one) =>
      one === 'id' ? texts.id.toLowerCase() === text : texts[one].toLowerCase().includes(text),
    ),
  )
}

/** Jobs with an exact id first, then the first jobs of each list, a bounded number of them. */
export async function searchJobs(queues: Queues, { limit, q, queue, status }: SearchQuery, scope: Scope): Promise<SearchResult> {
  const terms = termsOf(q)
  const names = queue === undefined ? await seenQueues(queues, scope) : [await existingQueue(queues, queue, scope)]
  const states = status === undefined ? statuses : [status]
  const found = new Map<string, JobDetails>()
  const add = (job: Job, state: string): void => {
    const key = `${job.queueName}:${job.id}`
    if (found.size < limit && !found.has(key)) found.set(key, detailsOf(job, state))
  }
  const [only] = terms
  if (terms.length === 1 && only !== undefined && only.field !== 'name' && only.field !== 'error' && q.trim().length <= 200) {
    const id = q.trim().replace(/^id:/, '')
    for (let from = 0; from < names.length; from += atOnce) {
      const jobs = await Promise.all(names.slice(from, from + atOnce).map((name) => queues.job(name, id)))
      for (const one of jobs) if (one !== undefined && (status === undefined || one.state === status)) add(one.job, one.state)
    }
  }
  const samples = await queues.sample(names)
  const lists = states.flatMap((state) => names.map((name) => ({ name, state, total: samples.get(name)?.counts[state] ?? 0 })))
  const of = lists.reduce((sum, { total }) => sum + total, 0)
  const open = lists.filter(({ total }) => total > 0)
  let read = 0
  // Every list gets its share, so that a long one does not hide the others.
  const share = Math.max(1, Math.floor(mostRead / Math.max(1, open.length)))
  for (const { name, state, total } of open) {
    for (let offset = 0; offset < Math.min(share, total) && read < mostRead && found.size < limit; offset += readAtOnce) {
      const jobs = await queues.list(name, state, { offset, limit: Math.min(readAtOnce, share - offset, mostRead - read) })
      read += jobs.length
      for (const job of jobs) if (matches(job, terms)) add(job, state)
      if (jobs.length === 0) break
    }
  }
  return { jobs: [...found.values()], searched: { jobs: read, of, complete: read >= of, queues: names.length } }
}
