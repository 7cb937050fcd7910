import type { WorkerAction } from '../control/change.js'
import * as shapes from './api-shapes.js'
import type { Shape } from './shape.js'

/** One request in the sequence of the contract. */
export interface ApiRow {
  /** As registered. */
  readonly route: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /api/${string}`
  readonly query?: string
  readonly body?: object
  readonly status: number
  readonly shape: Shape
  /** The action that change listeners receive; every route of workers other than GET has one. */
  readonly action?: WorkerAction
  /** Values of parameters other than the worker's name. */
  readonly params?: Readonly<Record<string, string>>
  /** A parameter of later rows that the response provides, and its path in the response. */
  readonly gives?: readonly [param: string, ...path: string[]]
  /** Path of a list that is empty at first; the request is repeated until it is not. */
  readonly fills?: readonly [...path: string[], list: string]
  /** The worker of this request, if it is not the usual one. */
  readonly worker?: string
}

const record = {
  processor: 'job.mjs',
  healthCheck: 'check.mjs',
  autoStart: false,
  features: { healthMonitoring: false },
  rateLimit: { max: 1000, duration: 1000 },
  jobOptions: { attempts: 2, backoff: { type: 'fixed', delay: 1 } },
}

/** The contract adds the names: `name` and `queueName` of new workers, and `worker` of children. */
export const apiRows: readonly ApiRow[] = [
  { route: 'POST /api/workers', action: 'create', body: record, status: 201, shape: shapes.workerAnswer },
  { route: 'POST /api/workers/create', action: 'create', worker: 'second', body: record, status: 201, shape: shapes.workerAnswer },
  { route: 'GET /api/workers', query: 'page=1&limit=1&status=inactive&includeInactive=true', status: 200, shape: shapes.listAnswer },
  { route: 'GET /api/nodes', status: 200, shape: shapes.nodesAnswer, gives: ['node', 'nodes', '0', 'id'] },
  { route: 'POST /api/nodes/:id/drain', params: { id: ':node' }, status: 200, shape: shapes.nodeAnswer },
  { route: 'DELETE /api/nodes/:id/drain', params: { id: ':node' }, status: 200, shape: shapes.nodeAnswer },
  { route: 'GET /api/workers/:name', status: 200, shape: shapes.workerAnswer },
  { route: 'PUT /api/workers/:name', action: 'update', body: { concurrency: 3 }, status: 200, shape: shapes.operationAnswer },
  { route: 'POST /api/workers/:name/start', action: 'start', query: 'wait=60000', status: 200, shape: shapes.operationAnswer },
  { route: 'POST /api/workers/:name/pause', action: 'pause', status: 200, shape: shapes.operationAnswer },
  { route: 'POST /api/workers/:name/resume', action: 'resume', status: 200, shape: shapes.operationAnswer },
  {
    route: 'POST /api/workers/:name/restart',
    action: 'restart',
    status: 200,
    shape: shapes.operationAnswer,
    gives: ['operation', 'operation', 'id'],
  },
  {
    route: 'POST /api/workers/:name/scale',
    action: 'scale',
    body: { concurrency: 7, reason: 'a queue' },
    status: 200,
    shape: shapes.scaledAnswer,
  },
  { route: 'POST /api/workers/:name/scale', action: 'scale', body: { concurrency: null }, status: 200, shape: shapes.operationAnswer },
  { route: 'GET /api/workers/:name/operations/:id', params: { id: ':operation' }, status: 200, shape: shapes.operationStateAnswer },
  { route: 'GET /api/workers/:name/status', status: 200, shape: shapes.statusAnswer },
  { route: 'GET /api/workers/:name/nodes', status: 200, shape: shapes.workerNodesAnswer },
  { route: 'GET /api/workers/:name/metrics', status: 200, shape: shapes.metricsAnswer },
  { route: 'GET /api/workers/:name/counts', query: 'minutes=10&byMinute=true', status: 200, shape: shapes.countsAnswer },
  { route: 'POST /api/workers/:name/monitoring/start', action: 'monitoring.start', status: 200, shape: shapes.operationAnswer },
  {
    route: 'GET /api/workers/:name/monitoring/history',
    query: 'hours=1&limit=1',
    status: 200,
    shape: shapes.historyAnswer,
    fills: ['history'],
  },
  { route: 'GET /api/workers/:name/health', status: 200, shape: shapes.healthAnswer, fills: ['health', 'checks'] },
  { route: 'POST /api/workers/:name/monitoring/stop', action: 'monitoring.stop', status: 200, shape: shapes.operationAnswer },
  {
    route: 'POST /api/workers/:name/versions',
    action: 'version.register',
    body: { version: '1.1.0', description: 'the same again', processor: 'job.mjs' },
    status: 201,
    shape: shapes.newVersionAnswer,
  },
  { route: 'GET /api/workers/:name/versions', status: 200, shape: shapes.versionsAnswer },
  {
    route: 'POST /api/workers/:name/versions/:version/activate',
    action: 'version.activate',
    params: { version: '1.0.0' },
    query: 'wait=60000',
    status: 200,
    shape: shapes.operationAnswer,
  },
  {
    route: 'POST /api/workers/:name/jobs',
    action: 'job.add',
    body: { data: { n: 1 }, options: { delay: 3_600_000 } },
    status: 202,
    shape: shapes.enqueuedAnswer,
    gives: ['job', 'job', 'id'],
  },
  { route: 'POST /api/workers/:name/jobs', action: 'flow.add', body: { children: [{}] }, status: 202, shape: shapes.flowAnswer },
  { route: 'GET /api/workers/:name/jobs/:id', params: { id: ':job' }, status: 200, shape: shapes.jobAnswer },
  {
    route: 'POST /api/workers/:name/jobs/:id/cancel',
    action: 'job.cancel',
    params: { id: ':job' },
    body: { reason: 'not needed' },
    status: 200,
    shape: shapes.cancelledAnswer,
  },
  {
    route: 'PUT /api/workers/:name/schedules/:id',
    action: 'schedule.put',
    params: { id: 'nightly' },
    body: { pattern: '0 3 * * *', tz: 'Europe/Berlin', data: 1 },
    status: 200,
    shape: shapes.scheduleAnswer,
  },
  { route: 'GET /api/workers/:name/schedules', status: 200, shape: shapes.schedulesAnswer },
  {
    route: 'DELETE /api/workers/:name/schedules/:id',
    action: 'schedule.remove',
    params: { id: 'nightly' },
    status: 200,
    shape: shapes.messageAnswer,
  },
  { route: 'POST /api/workers/:name/stop', action: 'stop', status: 200, shape: shapes.stopAnswer },
  { route: 'DELETE /api/workers/:name', action: 'remove', status: 200, shape: shapes.messageAnswer },
]

/** Streams as long as its client listens; tested in `events.test.ts`. */
export const streamRoute = 'GET /api/workers/events'

/** Worker routes of the specification that belong to other plugins. */
export const notHereYet: readonly string[] = [
  'POST /api/workers/:name/canary/start',
  'POST /api/workers/:name/canary/pause',
  'POST /api/workers/:name/canary/rollback',
  'GET /api/workers/:name/canary/status',
  'POST /api/resources/stop',
  'POST /api/resources/start',
  'GET /api/resources/current',
  'GET /api/resources/history',
  'GET /api/resources/alerts',
  'GET /api/resources/trends',
]
