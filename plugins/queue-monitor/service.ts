import type { Clock } from 'zin'
import type { DecisionPage, Decisions } from 'zin/plugins/decisions'
import type { JobLogs, LogPage, Queues } from 'zin/plugins/queues'
import { Lanes } from './access/lanes.js'
import { demandQueue, pluginScope, type Scope } from './access/scope.js'
import type { JobAttempts, JobDetails, JobFlow, QueueMonitor } from './contract.js'
import { monitorErrors } from './errors.js'
import type { History } from './history/history.js'
import type { AttemptHistory } from './jobs/attempts.js'
import { existingQueue, findJob } from './jobs/find.js'
import { flowOf } from './jobs/flow.js'
import { listJobs } from './jobs/lists.js'
import type { PayloadViews } from './jobs/payloads.js'
import { type SearchQuery, type SearchResult, searchJobs } from './jobs/search.js'
import { fieldsOf } from './jobs/search-fields.js'
import { entryOf, statsOf } from './snapshot/snapshot.js'
import type { Snapshots } from './snapshot/snapshots.js'

export interface MonitorParts {
  /** Returns the scope of an authenticated request. */
  readonly scopeOf: QueueMonitor['scope']
  readonly queues: Queues
  readonly snapshots: Snapshots
  readonly history: History
  readonly views: PayloadViews
  readonly attempts: AttemptHistory
  readonly decisions: () => Decisions | undefined
  readonly clock: Clock
}

/** The service, extended by methods used only by the routes. */
export interface MonitorReads extends QueueMonitor {
  search(query: SearchQuery, scope: Scope): Promise<SearchResult>
  /** Returns the paths of the searchable fields of a queue. 404 QUEUE_NOT_FOUND. */
  fields(queue: string, scope: Scope): Promise<{ readonly queue: string; readonly fields: readonly string[] }>
  /** Returns the complete redacted payload as JSON, with a file name. */
  download(id: string, queue: string | undefined, scope: Scope): Promise<{ readonly name: string; readonly text: string }>
  flow(id: string, queue: string | undefined, scope: Scope): Promise<JobFlow>
  /** Returns lines of the log of a job, and whether the job had ended before they were read: then no more lines follow. */
  logs(id: string, queue: string | undefined, page: LogPage, scope: Scope): Promise<JobLogs & { readonly ended: boolean }>
  /** Lists decisions about a queue. 404 QUEUE_NOT_FOUND. */
  decisions(queue: string, page: { readonly page: number; readonly limit: number }, scope: Scope): Promise<DecisionPage>
  attempts(id: string, queue: string | undefined, scope: Scope): Promise<JobAttempts>
}

const app = pluginScope('app')

export function createMonitor({ attempts, clock, decisions, history, queues, scopeOf, snapshots, views }: MonitorParts): MonitorReads {
  const lanes = new Lanes()
  const entry: QueueMonitor['queueStats'] = async (queue, scope = app) => {
    demandQueue(scope, queue)
    const { at, queues: all } = await snapshots.current()
    const found = Object.hasOwn(all, queue) ? all[queue] : undefined
    if (found === undefined) throw monitorErrors.QUEUE_NOT_FOUND(queue)
    if (found.broken !== undefined) throw monitorErrors.QUEUE_BROKEN(found.broken)
    return entryOf(found, at)
  }
  return {
    scope: scopeOf,
    stats: async (scope = app) => statsOf(await snapshots.current(), (queue) => scope.sees(queue)),
    queueStats: entry,
    async history(queue, tier, scope = app) {
      await entry(queue, scope)
      return history.read(queue, tier, clock.now())
    },
    jobs: (status, query = {}, scope = app) => lanes.run(scope, () => listJobs({ queues, views }, status, query, scope)),
    async job(id, { payload = false, queue } = {}, scope = app): Promise<JobDetails> {
      const { job, state } = await findJob(queues, id, queue, scope)
      return views.detailsOfOne(job, state, scope, payload)
    },
    search: (query, scope) => lanes.run(scope, () => searchJobs({ queues, views }, query, scope)),
    async fields(queue, scope) {
      return { queue, fields: fieldsOf(queues, await existingQueue(queues, queue, scope)) }
    },
    async download(id, queue, scope) {
      const { job } = await findJob(queues, id, queue, scope)
      return { name: `${job.queueName}-${job.id}`.replaceAll(/[^\w.-]/g, '_').slice(0, 150), text: await views.download(job, scope) }
    },
    flow: (id, queue, scope) => flowOf(queues, id, queue, scope),
    async logs(id, queue, page, scope) {
      const { job, state } = await findJob(queues, id, queue, scope)
      await views.admit(job, scope, 'logs')
      return { ...(await queues.logs(job.queueName, job.id ?? '', page)), ended: state === 'completed' || state === 'failed' }
    },
    async decisions(queue, page, scope) {
      await existingQueue(queues, queue, scope)
      const none = { decisions: [], pagination: { ...page, total: 0, totalPages: 0 } }
      return decisions()?.list({ subject: `queue:${queue}`, ...page }) ?? none
    },
    async attempts(id, queue, scope) {
      const { job, state } = await findJob(queues, id, queue, scope)
      const { attempts: read, ...counts } = await attempts.read(job, state)
      const shows = read.every(({ error }) => error === null) || (await views.showsErrors(job, scope))
      const shown = (error: string | null) => (shows && error !== null ? views.error(error, scope) : null)
      return { attempts: read.map((attempt) => ({ ...attempt, error: shown(attempt.error) })), ...counts }
    },
  }
}
