import type { Job } from 'bullmq'
import type { Queues } from 'zin/plugins/queues'
import { demand, type Scope } from '../access/scope.js'
import type { JobDetails, ListedStatus } from '../contract.js'
import { monitorErrors } from '../errors.js'
import { existingQueue, seenQueues } from './find.js'
import type { PayloadViews } from './payloads.js'
import { searchFields } from './search-fields.js'
import { matcher, termsOf } from './terms.js'

/** Limit on jobs read per search, and the number read at a time. */
const mostRead = 2_000
const readAtOnce = 100
/** Limit on the texts read per search, in characters: errors and progress reports may be long. */
const mostCharacters = 8 * 1024 * 1024
/** Queues searched concurrently for an exact id. */
const atOnce = 25
const statuses: readonly ListedStatus[] = ['active', 'failed', 'waiting', 'delayed', 'completed']
/** The coverage of a search. */
export interface Searched {
  /** Jobs read, out of `of`: the jobs in the searched queues and states, or, in a search by field, the index entries for the value. */
  readonly jobs: number
  readonly of: number
  /** Whether all of them were read. */
  readonly complete: boolean
  readonly queues: number
  /** Declared fields whose index was searched; empty if jobs were scanned. */
  readonly fields: readonly string[]
  /** The index contains only jobs added since then, ISO 8601; null if it is complete. */
  readonly since: string | null
  /** Present if errors were not searched, although the words could be in one: the caller may not see them. */
  readonly withoutErrors?: true
}

export interface SearchResult {
  readonly jobs: readonly JobDetails[]
  readonly searched: Searched
}

export interface SearchQuery {
  readonly q: string
  readonly queue?: string
  readonly status?: ListedStatus
  readonly limit: number
}

/**
 * Searches jobs. With terms for declared fields, uses their index. Otherwise looks for an exact id first, then scans a bounded number of
 * jobs from the start of each list.
 */
export async function searchJobs(
  { queues, views }: { readonly queues: Queues; readonly views: PayloadViews },
  query: SearchQuery,
  scope: Scope,
): Promise<SearchResult> {
  const { limit, q, queue, status } = query
  const sought = termsOf(q)
  const { terms } = sought
  if (terms.some(({ field }) => field === 'error')) demand(scope, 'payload:read')
  const names = queue === undefined ? await seenQueues(queues, scope) : [await existingQueue(queues, queue, scope)]
  if (Object.keys(sought.values).length > 0) return searchFields({ names, query, queues, sought, views }, scope)
  const list = views.lister(scope)
  const seeksErrors = terms.some(({ field }) => field === 'any' || field === 'error')
  const searchesErrors = seeksErrors && (await views.searchesErrors(queue, scope))
  const match = matcher(terms, searchesErrors ? (error) => views.error(error, scope) : undefined)
  const states = status === undefined ? statuses : [status]
  const samples = await queues.sample(names)
  const broken = queue === undefined ? undefined : samples.get(queue)?.broken
  if (broken !== undefined) throw monitorErrors.QUEUE_BROKEN(broken)
  const readable = names.filter((name) => samples.get(name)?.broken === undefined)
  const found = new Map<string, { readonly job: Job; readonly state: string }>()
  const add = (job: Job, state: string): void => {
    const key = `${job.queueName}:${job.id}`
    if (found.size < limit && !found.has(key)) found.set(key, { job, state })
  }
  const [only] = terms
  if (terms.length === 1 && only !== undefined && only.field !== 'name' && only.field !== 'error' && q.trim().length <= 200) {
    const id = q.trim().replace(/^id:/, '')
    for (let from = 0; from < readable.length; from += atOnce) {
      const jobs = await Promise.all(readable.slice(from, from + atOnce).map((name) => queues.job(name, id)))
      for (const one of jobs) if (one !== undefined && (status === undefined || one.state === status)) add(one.job, one.state)
    }
  }
  const lists = states.flatMap((state) => names.map((name) => ({ name, state, total: samples.get(name)?.counts[state] ?? 0 })))
  const of = lists.reduce((sum, { total }) => sum + total, 0)
  const open = lists.filter(({ total }) => total > 0)
  let read = 0
  let characters = 0
  // Every list gets an equal share, so that a long list does not crowd out the others.
  const share = Math.max(1, Math.floor(mostRead / Math.max(1, open.length)))
  for (const { name, state, total } of open) {
    for (
      let offset = 0;
      offset < Math.min(share, total) && read < mostRead && characters < mostCharacters && found.size < limit;
      offset += readAtOnce
    ) {
      const size = Math.min(readAtOnce, share - offset, mostRead - read)
      const jobs = await queues.list(name, state, { offset, limit: size, payload: false })
      read += jobs.length
      for (const job of jobs) {
        characters += (job.failedReason?.length ?? 0) + (JSON.stringify(job.progress)?.length ?? 0)
        if (match(job)) add(job, state)
      }
      if (jobs.length === 0) break
    }
  }
  return {
    jobs: await Promise.all([...found.values()].map(({ job, state }) => list(job, state))),
    searched: {
      jobs: read,
      of,
      complete: read >= of && readable.length === names.length,
      queues: readable.length,
      fields: [],
      since: null,
      ...(seeksErrors && !searchesErrors ? { withoutErrors: true as const } : {}),
    },
  }
}
