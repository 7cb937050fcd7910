import { setTimeout as pause } from 'node:timers/promises'
import { type Command, defineCommand, messageOf, ZinError } from 'zin'
import type { JobLogs } from 'zin/plugins/queues'
import type { JobDetails, JobPage } from '../contract.js'
import { monitorErrors } from '../errors.js'
import type { SearchResult } from './search.js'

/** Columns of a table of jobs. */
export const jobColumns = ['queue', 'id', 'name', 'status', 'attempts', 'createdAt', 'error'] as const

const jobs = defineCommand({
  name: 'queue:jobs',
  summary: 'List jobs in one state',
  args: [{ name: 'queue', summary: 'Name of the queue; default: all queues', required: false }],
  needs: 'running app',
  json: true,
  options: {
    status: {
      type: 'string',
      default: 'failed',
      values: ['active', 'failed', 'completed', 'waiting', 'delayed'],
      summary: 'State of the jobs',
    },
    page: { type: 'int', default: 1, min: 1, summary: 'Page number' },
    limit: { type: 'int', default: 20, min: 1, max: 100, summary: 'Jobs per page' },
  },
  run: async ({ app, args: { queue }, options: { limit, page, status }, print }) => {
    const query = { queue, page, limit }
    const found = await app.request<JobPage>({ method: 'GET', path: `/api/jobs/${status}`, query })
    print.table(found.jobs, jobColumns)
    const { total, totalPages } = found.pagination
    if (totalPages > page) print.line(`page ${page} of ${totalPages}, ${total} jobs: use --page and --limit`)
  },
})

const job = defineCommand({
  name: 'queue:job',
  summary: 'Show a job',
  args: [{ name: 'id', summary: 'Id of the job, or <queue>:<id>' }],
  needs: 'running app',
  route: 'GET /api/jobs/:id',
  json: true,
  options: {
    queue: { type: 'string', summary: 'Name of its queue' },
    payload: { type: 'boolean', summary: 'Also show its redacted payload' },
  },
  run: async ({ app, args: { id = '' }, options: { payload, queue }, print }) => {
    const query = { queue, include: payload ? 'payload' : 'none' }
    print.record(await app.request<JobDetails>({ method: 'GET', path: `/api/jobs/${encodeURIComponent(id)}`, query }))
  },
})

const search = defineCommand({
  name: 'queue:search',
  summary: 'Search jobs by words, name:…, error:…, id:… and data.<path>:… for declared fields',
  args: [{ name: 'text', summary: 'Search text; quote it if it contains spaces' }],
  needs: 'running app',
  route: 'GET /api/jobs',
  json: true,
  options: {
    queue: { type: 'string', summary: 'Only this queue' },
    status: { type: 'string', values: ['active', 'failed', 'completed', 'waiting', 'delayed'], summary: 'Only jobs in this state' },
    limit: { type: 'int', default: 20, min: 1, max: 100, summary: 'Maximum number of jobs shown' },
  },
  run: async ({ app, args: { text = '' }, options: { limit, queue, status }, print }) => {
    const found = await app.request<SearchResult>({ method: 'GET', path: '/api/jobs', query: { q: text, queue, status, limit } })
    if (print.json) return print.record(found)
    print.table(found.jobs, jobColumns)
    print.line(searchedIn(found.searched))
  },
})

/** Describes the coverage of a search. */
function searchedIn({ complete, fields, jobs, of, since, withoutErrors }: SearchResult['searched']): string {
  const errors = withoutErrors === true ? '; errors were not searched, which requires payload:read' : ''
  if (fields.length === 0) return `${complete ? `searched all ${of}` : `searched the newest ${jobs} of ${of}`}${errors}`
  const extent = complete ? '' : `, the newest ${jobs} of ${of}`
  return `searched the index of ${fields.join(', ')}${extent}${since === null ? '' : `, which covers jobs added since ${since}`}`
}

const duplicate = defineCommand({
  name: 'queue:duplicate',
  summary: 'Add a copy of a job, with the same or other data',
  args: [{ name: 'id', summary: 'Id of the job, or <queue>:<id>' }],
  needs: 'running app',
  route: 'POST /api/jobs/:id/duplicate',
  json: true,
  options: {
    queue: { type: 'string', summary: 'Name of its queue' },
    data: { type: 'string', summary: 'Other data, as JSON; [redacted] values are replaced by the original ones' },
  },
  run: async ({ app, args: { id = '' }, options: { data, queue }, print }) => {
    const body = data === undefined ? {} : { data: parsed(data) }
    const path = `/api/jobs/${encodeURIComponent(id)}/duplicate`
    const added = await app.request<{ id: string; queue: string }>({ method: 'POST', path, query: { queue }, body })
    if (print.json) print.record(added)
    else print.line(`job ${added.id} of queue ${added.queue} was added`)
  },
})

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw monitorErrors.INVALID_JOB_DATA(messageOf(error))
  }
}

const logs = defineCommand({
  name: 'queue:logs',
  summary: 'Show the last log lines of a job, and with --follow those that it writes until it ends',
  args: [{ name: 'id', summary: 'Id of the job, or <queue>:<id>' }],
  needs: 'running app',
  route: 'GET /api/jobs/:id/logs',
  options: {
    queue: { type: 'string', summary: 'Name of its queue' },
    lines: { type: 'int', default: 100, min: 1, max: 1_000, summary: 'How many lines, from the end' },
    follow: { type: 'boolean', summary: 'Go on until the job has ended' },
  },
  run: async ({ app, args: { id = '' }, options: { follow, lines, queue }, print }) => {
    const path = `/api/jobs/${encodeURIComponent(id)}/logs`
    for (let next = -lines, first = true; ; first = false) {
      const limit = first ? lines : followedLines
      const asked = app.request<JobLogPage>({ method: 'GET', path, query: { queue, offset: next, limit } })
      const page = await asked.catch((error: unknown) => {
        if (!first && error instanceof ZinError && error.code === 'JOB_NOT_FOUND') return undefined
        throw error
      })
      // It has ended, and its retention has removed it.
      if (page === undefined) return
      const missed = first ? 0 : page.offset - next
      if (missed > 0) print.error(`${missed} lines were dropped before they could be shown`)
      for (const line of page.logs) print.line(line, { verbatim: true })
      next = page.offset + page.logs.length
      const isWhole = page.logs.length < limit
      if (!follow || (page.ended && isWhole)) return
      if (isWhole) await pause(pollMs)
    }
  },
})

type JobLogPage = JobLogs & { readonly ended: boolean }

/** Lines per request, and time between two requests in ms, while a log is followed. */
const followedLines = 1_000
const pollMs = 1_000

/** Commands that list, search, show and copy jobs. */
export const jobCommands: readonly Command[] = [jobs, job, logs, search, duplicate]
