import { setTimeout as pause } from 'node:timers/promises'
import { type AppClient, type Command, countText, defineCommand, type Printer } from 'zin'
import type { QueueEntry, QueueStats } from './contract.js'
import { jobColumns, jobCommands } from './jobs/cli.js'
import type { FlowDryRun } from './manage/flow-retry.js'
import type { BulkOperation } from './manage/operation.js'
import type { DryRun } from './manage/operations.js'

const queueArgument = { name: 'queue', summary: 'Name of the queue' }

const list = defineCommand({
  name: 'queue:list',
  summary: 'List the queues with their job counts',
  needs: 'running app',
  route: 'GET /api/queue/stats',
  json: true,
  run: async ({ app, print }) => {
    const { queues } = await app.request<QueueStats>({ method: 'GET', path: '/api/queue/stats' })
    const rows = Object.entries(queues).map(([name, entry]) => ({ name, ...entry }))
    if (print.json) return print.table(rows)
    const broken = rows.filter((row) => row.broken === true)
    print.table(
      rows.map(
        ({ active, averageProcessingTime, completed, failed, name, oldestWaitingMs, paused, size, ...row }): Record<string, unknown> =>
          row.broken === true
            ? { name, size: 'broken' }
            : { ...{ name, size, active, completed, failed, paused }, 'average ms': averageProcessingTime, 'oldest ms': oldestWaitingMs },
      ),
      ['name', 'size', 'active', 'completed', 'failed', 'paused', 'average ms', 'oldest ms'],
    )
    for (const { name, reason } of broken) print.error(`queue "${name}" cannot be read: ${reason}`)
    return broken.length === 0 ? 0 : 1
  },
})

const stats = defineCommand({
  name: 'queue:stats',
  summary: 'Show the statistics of a queue, or the totals of all queues',
  args: [{ name: 'queue', summary: 'Name of the queue; default: all queues', required: false }],
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

const filters = {
  'older-than': { type: 'number', min: 0, summary: 'Only jobs that ended (or, if unfinished, were created) more than this many hours ago' },
  'max-attempts': { type: 'int', min: 0, summary: 'Only jobs with at most this many attempts' },
  'dry-run': { type: 'boolean', summary: 'Only show how many jobs match, and up to ten of them' },
} as const

const nowOption = { type: 'boolean', summary: 'Delete permanently, without undo' } as const

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

interface OperationReply {
  readonly operation: BulkOperation
  readonly message?: string
}

type BulkReply = OperationReply | DryRun | FlowDryRun

interface BulkRequest {
  readonly path: string
  readonly now?: boolean
  readonly queue?: string | undefined
  readonly body?: object
}

/** Interval between polls of a running operation, in ms. */
const pollMs = 500

const pathOf = (queue: string, action: string): string => `/api/queue/${encodeURIComponent(queue)}/${action}`

/** Starts an operation and waits until it ends; Ctrl-C cancels it. */
async function bulk(app: AppClient, print: Printer, signal: AbortSignal, { body, now, path, ...given }: BulkRequest): Promise<BulkReply> {
  const query = { wait: 1_000, now: now ? 'true' : undefined, queue: given.queue }
  const first = await app.request<BulkReply>({ method: 'POST', path, query, ...(body === undefined ? {} : { body }) })
  if ('dryRun' in first) return first
  let reply: OperationReply = first
  const { action, id, queue } = first.operation
  const bar = print.progress(`${action} of queue ${queue}`)
  let cancelled = false
  try {
    while (reply.operation.state === 'running') {
      bar.update(Math.min(reply.operation.looked, reply.operation.total), reply.operation.total)
      await pause(pollMs, undefined, cancelled ? {} : { signal }).catch(() => undefined)
      const cancels: boolean = signal.aborted && !cancelled
      cancelled ||= cancels
      reply = await app.request<OperationReply>(
        cancels ? { method: 'POST', path: `/api/operations/${id}/cancel` } : { method: 'GET', path: `/api/operations/${id}` },
      )
    }
  } finally {
    bar.end()
  }
  return reply
}

/** Prints the result of an operation. Returns the exit code: 1 if it did not complete. */
function report(reply: BulkReply, print: Printer): number {
  if (print.json) print.record('dryRun' in reply ? reply : reply.operation)
  else if ('dryRun' in reply) {
    print.line(reply.message)
    if ('jobs' in reply) for (const name of reply.jobs) print.line(name)
    else if (reply.sample.length > 0) print.table(reply.sample, jobColumns)
  } else {
    const { action, changed, error, id, left, queue, state, undo } = reply.operation
    const done = changed === 0 && left === 0 ? 'no jobs matched' : countText(changed, 'job')
    print.line(`${action} of queue ${queue} ${state}: ${done}${error === null ? '' : `; ${error}`}`)
    if (left > 0 || (undo?.final ?? 0) > 0 || (reply.operation.related ?? 0) > 0) print.line(reply.message ?? '')
    if (undo !== null && undo.jobs > 0) print.line(`${undo.jobs} can be restored until ${undo.until}: zin queue:undo ${id}`)
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
    report(await bulk(app, print, signal, { path: pathOf(queue, 'retry'), body: bodyOf(options) }), print),
})

const retryFlow = defineCommand({
  name: 'queue:retry-flow',
  summary: 'Retry all failed jobs of the flow of a job, leaves first',
  args: [{ name: 'id', summary: 'Id of any job of the flow, or <queue>:<id>' }],
  needs: 'running app',
  route: 'POST /api/jobs/:id/flow/retry',
  json: true,
  options: {
    queue: { type: 'string', summary: 'Name of its queue' },
    'dry-run': { type: 'boolean', summary: 'Only show which jobs would be retried' },
  },
  run: async ({ app, args: { id = '' }, options: { queue, 'dry-run': dryRun }, print, signal }) => {
    const path = `/api/jobs/${encodeURIComponent(id)}/flow/retry`
    return report(await bulk(app, print, signal, { path, queue, body: { dryRun } }), print)
  },
})

const cancel = defineCommand({
  name: 'queue:cancel',
  summary: 'Cancel jobs of a queue; without --status, all that have not started',
  args: [queueArgument],
  needs: 'running app',
  route: 'POST /api/queue/:name/cancel',
  json: true,
  options: {
    ...filters,
    status: { type: 'string', values: ['waiting', 'delayed', 'waiting-children', 'active', 'all'], summary: 'State of the jobs' },
  },
  run: async ({ app, args: { queue = '' }, options, print, signal }) => {
    const { status } = options
    const body = { ...bodyOf(options), ...(status === undefined ? {} : { status }) }
    return report(await bulk(app, print, signal, { path: pathOf(queue, 'cancel'), body }), print)
  },
})

const purge = defineCommand({
  name: 'queue:purge',
  summary: 'Delete jobs of a queue that are not running',
  args: [queueArgument],
  needs: 'running app',
  route: 'POST /api/queue/:name/purge',
  json: true,
  confirms: true,
  options: {
    ...filters,
    now: nowOption,
    status: {
      type: 'string',
      default: 'completed',
      values: ['completed', 'failed', 'waiting', 'delayed', 'waiting-children', 'all'],
      summary: 'State of the jobs',
    },
  },
  run: async ({ app, args: { queue = '' }, confirm, options, print, signal }) => {
    const { now, status } = options
    const kinds = status === 'all' ? '' : ` ${status}`
    const body = { ...bodyOf(options), status, confirm: queue }
    const path = pathOf(queue, 'purge')
    if (!options['dry-run']) {
      const found = await bulk(app, print, signal, { path, now, body: { ...body, dryRun: true } })
      const counted = 'dryRun' in found ? `: ${found.message}` : ''
      await confirm(`This ${now ? 'permanently ' : ''}deletes${kinds} jobs of the queue ${queue}${counted}`)
    }
    return report(await bulk(app, print, signal, { path, now, body }), print)
  },
})

const undo = defineCommand({
  name: 'queue:undo',
  summary: 'Restore the jobs deleted by an operation within the last ten minutes',
  args: [{ name: 'operation', summary: 'Id of the operation, as shown when it was started' }],
  needs: 'running app',
  route: 'POST /api/operations/:id/undo',
  json: true,
  run: async ({ app, args: { operation = '' }, print, signal }) =>
    report(await bulk(app, print, signal, { path: `/api/operations/${encodeURIComponent(operation)}/undo` }), print),
})

const pauses = (['pause', 'resume'] as const).map((verb) =>
  defineCommand({
    name: `queue:${verb}`,
    summary: verb === 'pause' ? 'Pause a queue: workers take no new jobs from it' : 'Resume a paused queue',
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
  summary: 'Delete old failed jobs of all queues',
  needs: 'running app',
  json: true,
  options: {
    hours: { type: 'int', default: 168, min: 0, max: 876_000, summary: 'Minimum age of the jobs, in hours since they ended' },
    now: nowOption,
  },
  run: async ({ app, options: { hours, now }, print, signal }) => {
    const { queues } = await app.request<QueueStats>({ method: 'GET', path: '/api/queue/stats' })
    const rows: { queue: string; state: string; deleted: number; operation: string }[] = []
    const body = { status: 'failed', olderThan: hours * 3_600_000 }
    for (const queue of Object.keys(queues)) {
      if (signal.aborted) break
      const reply = await bulk(app, print, signal, { path: pathOf(queue, 'purge'), now, body })
      if (!('operation' in reply)) continue
      const { changed: deleted, id: operation, state, undo } = reply.operation
      rows.push({ queue, state, deleted, operation })
      if (!print.json && undo !== null && undo.jobs > 0) {
        print.line(`queue ${queue}: ${undo.jobs} can be restored until ${undo.until}: zin queue:undo ${operation}`)
      }
    }
    if (print.json) print.table(rows)
    else print.line(`Deleted ${rows.reduce((sum, { deleted }) => sum + deleted, 0)} failed jobs that ended more than ${hours} h ago`)
    return rows.every(({ state }) => state === 'completed') ? 0 : 1
  },
})

/** Commands that query the running app. */
export const queueMonitorCommands: readonly Command[] = [
  list,
  stats,
  ...jobCommands,
  retry,
  retryFlow,
  cancel,
  purge,
  undo,
  ...pauses,
  prune,
]
