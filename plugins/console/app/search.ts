import type { JobDetails, QueueStats } from 'zin/plugins/queue-monitor'
import { bestMatches } from '../shared/best-matches.js'
import type { FoundWorkers } from '../worker-search.js'
import { navigation } from './additions.js'
import { request } from './data/api.js'
import { messageOf } from './data/message.js'
import { isEnabled, session } from './data/session.js'
import { exact, plural } from './format.js'
import { path } from './router.js'
import { extentOf, type Searched } from './search-extent.js'

export interface Hit {
  readonly kind: 'page' | 'queue' | 'worker' | 'job'
  readonly title: string
  readonly detail: string
  readonly to: string
}

interface Found {
  readonly hits: readonly Hit[]
  readonly note: string
}

interface JobSearch {
  readonly jobs: readonly JobDetails[]
  readonly searched: Searched
}

const mostOfAKind = 8
/** The longest text that the app accepts for a name; longer ones match none. */
const longestName = 200

/** Searches pages locally, and queues, workers and jobs in the app. Shows pages at once and the rest when it arrives. */
export async function searchAll(text: string, signal: AbortSignal, show: (found: Found) => void): Promise<void> {
  const wanted = text.trim()
  const pages = navigation()
    .filter(({ title }) => title.toLowerCase().includes(wanted.toLowerCase()))
    .map((page): Hit => ({ kind: 'page', title: page.title, detail: '', to: page.path }))
  show({ hits: pages, note: wanted === '' ? 'Type to search queues, workers and jobs' : 'Searching…' })
  if (wanted === '') return
  const parts = await Promise.all([
    part('Queues', findQueues(wanted, signal)),
    part('Workers', findWorkers(wanted, signal)),
    part('Jobs', findJobs(wanted, signal)),
  ])
  show({
    hits: [...pages, ...parts.flatMap(({ hits }) => hits)],
    note: parts.flatMap(({ note }) => (note === '' ? [] : [note])).join('. '),
  })
}

/** What was found of one kind; a failure is stated, and does not hide what was found of the others. */
function part(what: string, found: Promise<Found>): Promise<Found> {
  return found.catch((error: unknown) => ({ hits: [], note: `${what} could not be searched: ${messageOf(error)}` }))
}

async function findQueues(wanted: string, signal: AbortSignal): Promise<Found> {
  const { queues } = await request<QueueStats>('GET', '/api/queue/stats', undefined, signal)
  const { best, total } = bestMatches(Object.keys(queues), (name) => name, wanted, mostOfAKind)
  return {
    hits: best.map((name) => ({ kind: 'queue', title: name, detail: '', to: path`/queues/${name}` })),
    note: shownOf(best.length, total, 'queues'),
  }
}

async function findWorkers(wanted: string, signal: AbortSignal): Promise<Found> {
  if (!isEnabled('workers') || session.value?.may.operate !== true || wanted.length > longestName) return { hits: [], note: '' }
  const url = `/api/console/workers?limit=${mostOfAKind}&q=${encodeURIComponent(wanted)}`
  const { complete, searched, total, workers } = await request<FoundWorkers>('GET', url, undefined, signal)
  const notes = [shownOf(workers.length, total, 'workers'), complete ? '' : `Only the first ${exact(searched)} workers were searched`]
  return {
    hits: workers.map(({ name, state }) => ({ kind: 'worker', title: name, detail: state, to: path`/workers/${name}` })),
    note: notes.filter((note) => note !== '').join('. '),
  }
}

async function findJobs(wanted: string, signal: AbortSignal): Promise<Found> {
  const url = `/api/jobs?limit=${mostOfAKind}&q=${encodeURIComponent(wanted)}`
  const { jobs, searched } = await request<JobSearch>('GET', url, undefined, signal)
  const matched = jobs.length === 0 ? 'No jobs matched' : `${plural(jobs.length, 'job')} matched`
  return {
    hits: jobs.map(({ id, name, queue, state }) => ({
      kind: 'job',
      title: name,
      detail: `${queue} · ${id} · ${state}`,
      to: path`/queues/${queue}/jobs/${id}`,
    })),
    note: `${matched}; ${extentOf(searched)}`,
  }
}

function shownOf(shown: number, total: number, what: string): string {
  return shown < total ? `${exact(shown)} of ${exact(total)} matching ${what} shown` : ''
}
