import type { JobDetails, QueueStats } from 'zin/plugins/queue-monitor'
import { navigation } from './additions.js'
import { request } from './data/api.js'
import { messageOf } from './data/message.js'
import { isEnabled } from './data/session.js'
import { exact } from './format.js'
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

/** Searches pages locally, and queues, workers and jobs in the app. Shows pages at once and the rest when it arrives. */
export async function searchAll(text: string, signal: AbortSignal, show: (found: Found) => void): Promise<void> {
  const wanted = text.trim().toLowerCase()
  const has = (name: string): boolean => name.toLowerCase().includes(wanted)
  const pages = navigation()
    .filter(({ title }) => has(title))
    .map((page): Hit => ({ kind: 'page', title: page.title, detail: '', to: page.path }))
  show({ hits: pages, note: wanted === '' ? 'Type to search queues, workers and jobs' : 'Searching…' })
  if (wanted === '') return
  const [queues, workers, jobs] = await Promise.all([
    request<QueueStats>('GET', '/api/queue/stats', undefined, signal)
      .then((stats) => Object.keys(stats.queues))
      .catch(() => []),
    isEnabled('workers')
      ? request<{ workers: readonly { name: string; state: string }[] }>('GET', '/api/workers', undefined, signal).catch(() => ({
          workers: [],
        }))
      : { workers: [] },
    request<JobSearch>('GET', `/api/jobs?limit=${mostOfAKind}&q=${encodeURIComponent(text.trim())}`, undefined, signal).catch(messageOf),
  ])
  const found = typeof jobs === 'string' ? [] : jobs.jobs
  show({
    hits: [
      ...pages,
      ...queues
        .filter(has)
        .slice(0, mostOfAKind)
        .map((name): Hit => ({ kind: 'queue', title: name, detail: '', to: path`/queues/${name}` })),
      ...workers.workers
        .filter(({ name }) => has(name))
        .slice(0, mostOfAKind)
        .map(({ name, state }): Hit => ({ kind: 'worker', title: name, detail: state, to: path`/workers/${name}` })),
      ...found.map(
        ({ id, name, queue, state }): Hit => ({
          kind: 'job',
          title: name,
          detail: `${queue} · ${id} · ${state}`,
          to: path`/queues/${queue}/jobs/${id}`,
        }),
      ),
    ],
    note: typeof jobs === 'string' ? `Jobs: ${jobs}` : noteOf(jobs.searched, found.length),
  })
}

function noteOf(searched: Searched, found: number): string {
  const matched = found === 0 ? 'No jobs matched' : `${found === 1 ? '1 job' : `${exact(found)} jobs`} matched`
  return `${matched}; ${extentOf(searched)}`
}
