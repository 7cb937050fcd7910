import type { Queues } from 'zin/plugins/queues'
import { demand, type Scope } from '../access/scope.js'
import type { JobDetails } from '../contract.js'
import { monitorErrors } from '../errors.js'
import { detailsOf } from './details.js'
import { isSecret } from './redact.js'
import type { SearchQuery, SearchResult } from './search.js'
import { matches, type Terms } from './terms.js'

/** Most entries of indexes that one search looks up. */
const mostLooked = 500

export interface FieldSearch {
  readonly queues: Queues
  /** Names of queues that are searched, which the caller sees. */
  readonly names: readonly string[]
  readonly sought: Terms
  readonly query: SearchQuery
  /** Parts of names of fields whose values are never shown, nor searched. */
  readonly secret: readonly string[]
}

/** The declared fields of a queue whose values may be shown. */
export function fieldsOf(queues: Queues, queue: string, secret: readonly string[]): readonly string[] {
  const declared = Object.hasOwn(queues.searchFields, queue) ? (queues.searchFields[queue] ?? []) : []
  return declared.filter((path) => !path.split('.').some((name) => isSecret(name, secret)))
}

/**
 * Jobs by values of declared fields, in the queues that declare all of them. Whoever finds a job so knows what its data hold, which requires
 * `payload:read`. Throws MONITOR_FORBIDDEN, INVALID_JOB_FILTER.
 */
export async function searchFields({ names, query, queues, secret, sought }: FieldSearch, scope: Scope): Promise<SearchResult> {
  demand(scope, 'payload:read')
  const paths = Object.keys(sought.values)
  const declaring = names.filter((name) => {
    const fields = fieldsOf(queues, name, secret)
    return paths.every((path) => fields.includes(path))
  })
  if (declaring.length === 0) throw monitorErrors.INVALID_JOB_FILTER(undeclared(paths, names, queues, secret))
  const jobs: JobDetails[] = []
  let [looked, of, since] = [0, 0, 0]
  for (const name of declaring) {
    const found = await queues.find(name, sought.values, { limit: Math.max(1, mostLooked - looked) })
    looked += found.looked
    of += found.of
    since = Math.max(since, found.since ?? 0)
    const fitting = found.jobs.filter(
      ({ job, state }) => matches(job, sought.terms) && (query.status === undefined || listedState(state) === query.status),
    )
    jobs.push(...fitting.map(({ job, state }) => detailsOf(job, state)))
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

/** The list that shows a job in a state. */
function listedState(state: string): string {
  return state === 'prioritized' || state === 'paused' ? 'waiting' : state
}

function undeclared(paths: readonly string[], names: readonly string[], queues: Queues, secret: readonly string[]): string {
  const known = names.flatMap((name) => fieldsOf(queues, name, secret).map((path) => `data.${path} (${name})`))
  const searched = paths.map((path) => `data.${path}`).join(' and ')
  const instead = known.length === 0 ? 'none is' : `declared are ${known.slice(0, 20).join(', ')}`
  return `no queue that you see declares ${searched} for search; ${instead}. The option search of the plugin queues declares fields`
}
