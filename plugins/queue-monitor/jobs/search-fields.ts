import type { Queues } from 'zin/plugins/queues'
import { demand, type Scope } from '../access/scope.js'
import type { JobDetails } from '../contract.js'
import { monitorErrors } from '../errors.js'
import type { PayloadViews } from './payloads.js'
import type { SearchQuery, SearchResult } from './search.js'
import { matcher, type Terms } from './terms.js'

/** Limit on index entries read per search. */
const mostLooked = 500

export interface FieldSearch {
  readonly queues: Queues
  readonly views: PayloadViews
  /** Names of the queues to search, all visible to the caller. */
  readonly names: readonly string[]
  readonly sought: Terms
  readonly query: SearchQuery
}

/** Returns the declared search fields of a queue that are not redacted. */
export function fieldsOf(queues: Queues, queue: string): readonly string[] {
  const declared = Object.hasOwn(queues.searchFields, queue) ? (queues.searchFields[queue] ?? []) : []
  return declared.filter((path) => !path.split('.').some((name) => queues.views.isSecret(name)))
}

/**
 * Finds jobs by values of declared fields, in the queues that declare all of them. Requires `payload:read`, because a match reveals part of
 * the payload. Throws MONITOR_FORBIDDEN, INVALID_JOB_FILTER.
 */
export async function searchFields({ names, query, queues, sought, views }: FieldSearch, scope: Scope): Promise<SearchResult> {
  demand(scope, 'payload:read')
  const paths = Object.keys(sought.values)
  const declaring = names.filter((name) => {
    const fields = fieldsOf(queues, name)
    return paths.every((path) => fields.includes(path))
  })
  if (declaring.length === 0) throw monitorErrors.INVALID_JOB_FILTER(undeclared(paths, names, queues))
  // A match reveals a part of the payload, and so does the lack of one.
  await queues.views.admit({ queue: query.queue ?? '*', id: '' }, scope, 'search')
  const jobs: JobDetails[] = []
  const match = matcher(sought.terms, (error) => views.error(error, scope))
  const list = views.lister(scope)
  let [looked, of, since] = [0, 0, 0]
  for (const name of declaring) {
    const found = await queues.find(name, sought.values, { limit: Math.max(1, mostLooked - looked) })
    looked += found.looked
    of += found.of
    since = Math.max(since, found.since ?? 0)
    const matching = found.jobs.filter(
      ({ job, state }) => match(job) && (query.status === undefined || listedState(state) === query.status),
    )
    jobs.push(...(await Promise.all(matching.map(({ job, state }) => list(job, state)))))
  }
  return {
    jobs: jobs.slice(0, query.limit),
    searched: {
      jobs: looked,
      of,
      complete: looked >= of,
      queues: declaring.length,
      fields: paths,
      since: since === 0 ? null : new Date(since).toISOString(),
    },
  }
}

/** Returns the list that contains jobs in a BullMQ state. */
function listedState(state: string): string {
  return state === 'prioritized' || state === 'paused' ? 'waiting' : state
}

function undeclared(paths: readonly string[], names: readonly string[], queues: Queues): string {
  const known = names.flatMap((name) => fieldsOf(queues, name).map((path) => `data.${path} (${name})`))
  const searched = paths.map((path) => `data.${path}`).join(' and ')
  const instead = known.length === 0 ? 'no fields are declared' : `declared fields: ${known.slice(0, 20).join(', ')}`
  return `none of the searched queues declares ${searched} as searchable; ${instead}. Declare fields in the option search of the plugin queues`
}
