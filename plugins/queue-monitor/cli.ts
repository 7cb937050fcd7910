import { type AppClient, type Command, defineCommand, messageOf, type Printer } from 'zin'
import type { JobDetails, JobPage, QueueEntry, QueueStats } from './contract.js'
import { monitorErrors } from './errors.js'
import type { BulkOperation, DryRun } from './manage/operations.js'

const queueArgument = { name: 'queue', summary: 'Name of the queue' }

const columns = ['name', 'size', 'active', 'completed', 'failed', 'averageProcessingTime', 'oldestWaitingMs', 'paused'] as const
const jobColumns = ['queue', 'id', 'name', 'status', 'attempts', 'createdAt', 'error'] as const

const list = defineCommand({
  name: 'queue:list',
  summary: 'List the queues with their numbers of jobs',
  needs: 'running app',
  route: 'GET /api/queue/stats',
  json: true,
  run: async ({ app, print }) => {
    const { queues } = await app.request<QueueStats>({ method: 'GET', path: '/api/queue/stats' })
    print.table(
      Object.entries(queues).map(([name, entry]) => ({ name, ...entry })),
      columns,
    )
  },
})

const stats = defineCommand({
  name: 'queue:stats',
  summary: 'Show the statistics of a queue, or of all together',
  args: [{ name: 'queue', summary: 'Name of the queue; all without it', required: false }],
  needs: 'running app',
  route: 'GET /api/queue/:name/stats',
  json: true,
  run: async ({ app, args: { queue }, print }) => {
    if (queue !== undefined) {
      return print.record(await app.request<QueueEntry>({ method: 'GET', path: `/api/queue/${encodeURIComponent(queue)}/stats` }))
    }
    const { queues, ...all } = await app.request<QueueStats>({ method: 'GET', path: '/api/queue/stats' })
    print.record(print.json ? { ...all, queues } : all)
  },
})

const jobs = defineCommand({
  name: 'queue:jobs',
  summary: 'List jobs in one state',
  args: [{ name: 'queue', summary: 'Name of the queue; all without it', required: false }],
  needs: 'running app',
  json: true,
  options: {
    status: {
      type: 'string',
      default: 'failed',
      values: ['active', 'failed', 'completed', 'waiting', 'delayed'],
      summary: 'State of the jobs',
    },
    page: { type: 'int', default: 1, min: 1, summary: 'Page' },
    limit: { type: 'int', default: 20, min: 1, max: 100, summary: 'Jobs of a page' },
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
    const query = { queue, include: payload ? 'payload' : undefined }
    print.record(await app.request<JobDetails>({ method: 'GET', path: `/api/jobs/${encodeURIComponent(id)}`, query }))
  },
})

const duplicate = defineCommand({
  name: 'queue:duplicate',
  summary: 'Add a job like another one, with its data or other data',
  args: [{ name: 'id', summary: 'Id of the job, or <queue>:<id>' }],
  needs: 'running app',
  route: 'POST /api/jobs/:id/duplicate',
  json: true,
  options: {
    queue: { type: 'string', summary: 'Name of its queue' },
    data: { type: 'string', summary: 'Other data, as JSON; values that say [redacted] are those of the original' },
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

const filters = {
  'older-than': { type: 'number', min: 0, summary: 'Only jobs that ended, or were created, more than so many hours ago' },
  'max-attempts': { type: 'int', min: 0, summary: 'Only jobs that made at most so many attempts' },
  'dry-run': { type: 'boolean', summary: 'Only show how many jobs match, and ten of them' },
} as const

interface Filters {
  readonly 'older-than': number | undefined
  readonly 'max-attempts': number | undefined
  readonly 'dry-run': boolean
}

const bodyOf = (options: Filters) => ({
  ...(options['older-than'] === undefined ? {} : { olderThan: Math.round(options['older-than'] * 3_600_000) }),
  ...(options['max-attempts'] === undefined ? {} : { maxAttempts: options['max-attempts'] }),
  ...(options['dry-run'] ? { dryRun: true } : {}),
})

type BulkReply = { readonly operation: BulkOperation } | DryRun

/** Starts an operation and waits for its end; Ctrl-C cancels it. */
async function bulk(app: AppClient, print: Printer, signal: AbortSignal, queue: string, action: string, body: object): Promise<BulkReply> {
  const path = `/api/queue/${encodeURIComponent(queue)}/${action}`
  const reply = await app.request<BulkReply>({ method: 'POST', path, query: { wait: 1_000 }, body })
  if ('dryRun' in reply) return reply
  let { operation } = reply
  const bar = print.progress(`${action} of queue ${queue}`)
  try {
    while (operation.state === 'running') {
      bar.update(Math.min(operation.looked, operation.total), operation.total)
      await new Promise((resolve) => setTimeout(resolve, 500))
      const request = signal.aborted
        ? ({ method: 'POST', path: `/api/operations/${operation.id}/cancel` } as const)
        : ({ method: 'GET', path: `/api/operations/${operation.id}` } as const)
      operation = (await app.request<{ operation: BulkOperation }>(request)).operation
    }
  } finally {
    bar.end()
  }
  return { operation }
}

/** Prints what an operation did; 1 when it did not complete. */
function report(reply: BulkReply, print: Printer): number {
  if (print.json) print.record('dryRun' in reply ? reply : reply.operation)
  else if ('dryRun' in reply) {
    print.line(reply.message)
    if (reply.sample.length > 0) print.table(reply.sample, jobColumns)
  } else {
    const { action, changed, error, queue, state } = reply.operation
    print.line(
      `${action} of queue ${queue} ${state}: ${changed === 0 ? 'no job matched' : `${changed} jobs`}${error === null ? '' : `; ${error}`}`,
    )
  }
  return 'dryRun' in reply || reply.operation.state === 'completed' ? 0 : 1
}

const retry = defineCommand({
  name: 'queue:retry',
  summary: 'Retry the failed jobs of a queue',
  args: [queueArgument],
  needs: 'running app',
  route: 'POST /api/queue/:name/retry',
  json: true,
  options: filters,
  run: async ({ app, args: { queue = '' }, options, print, signal }) =>
    report(await bulk(app, print, signal, queue, 'retry', bodyOf(options)), print),
})

const cancel = defineCommand({
  name: 'queue:cancel',
  summary: 'Cancel jobs of a queue: the waiting and delayed ones without --status',
  args: [queueArgument],
  needs: 'running app',
  route: 'POST /api/queue/:name/cancel',
  json: true,
  options: { ...filters, status: { type: 'string', values: ['waiting', 'delayed', 'active', 'all'], summary: 'State of the jobs' } },
  run: async ({ app, args: { queue = '' }, options, print, signal }) => {
    const { status } = options
    return report(
      await bulk(app, print, signal, queue, 'cancel', { ...bodyOf(options), ...(status === undefined ? {} : { status }) }),
      print,
    )
  },
})

const purge = defineCommand({
  name: 'queue:purge',
  summary: 'Delete jobs of a queue that do not run',
  args: [queueArgument],
  needs: 'running app',
  route: 'POST /api/queue/:name/purge',
  json: true,
  confirms: true,
  options: {
    ...filters,
    status: {
      type: 'string',
      default: 'completed',
      values: ['completed', 'failed', 'waiting', 'delayed', 'all'],
      summary: 'State of the jobs',
    },
  },
  run: async ({ app, args: { queue = '' }, confirm, options, print, signal }) => {
    const { status } = options
    const kinds = status === 'all' ? '' : ` ${status}`
    if (!options['dry-run']) await confirm(`This deletes${kinds} jobs of the queue ${queue}`)
    return report(await bulk(app, print, signal, queue, 'purge', { ...bodyOf(options), status, confirm: queue }), print)
  },
})

const pauses = (['pause', 'resume'] as const).map((verb) =>
  defineCommand({
    name: `queue:${verb}`,
    summary: verb === 'pause' ? 'Let no worker take further jobs of a queue' : 'Let workers take jobs of a queue again',
    args: [queueArgument],
    needs: 'running app',
    route: `POST /api/queue/:name/${verb}`,
    json: true,
    run: async ({ app, args: { queue = '' }, print }) => {
      const result = await app.request<object>({ method: 'POST', path: `/api/queue/${encodeURIComponent(queue)}/${verb}` })
      if (print.json) print.record(result)
      else print.line(`queue ${queue} is ${verb === 'pause' ? 'paused' : 'running'}`)
    },
  }),
)

const prune = defineCommand({
  name: 'queue prune',
  summary: 'Delete failed jobs of all queues that ended long ago',
  needs: 'running app',
  json: true,
  options: { hours: { type: 'int', default: 168, min: 0, max: 876_000, summary: 'Age from which on they are deleted, in hours' } },
  run: async ({ app, options: { hours }, print, signal }) => {
    const { queues } = await app.request<QueueStats>({ method: 'GET', path: '/api/queue/stats' })
    const rows: { queue: string; state: string; deleted: number }[] = []
    for (const queue of Object.keys(queues)) {
      if (signal.aborted) break
      const reply = await bulk(app, print, signal, queue, 'purge', { status: 'failed', olderThan: hours * 3_600_000 })
      if ('operation' in reply) rows.push({ queue, state: reply.operation.state, deleted: reply.operation.changed })
    }
    if (print.json) print.table(rows)
    else print.line(`Deleted ${rows.reduce((sum, { deleted }) => sum + deleted, 0)} failed jobs that ended more than ${hours} h ago`)
    return rows.every(({ state }) => state === 'completed') ? 0 : 1
  },
})

/** Commands that query the running app. */
export const queueMonitorCommands: readonly Command[] = [list, stats, jobs, job, duplicate, retry, cancel, purge, ...pauses, prune]
