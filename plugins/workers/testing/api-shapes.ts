import type { Shape } from './shape.js'

/** The responses of the worker API, field by field. */

/** A worker as the contract creates it: with a rate limit and features, without regions, never FAILED. */
export const worker: Shape = {
  name: 'string',
  queueName: 'string',
  concurrency: 'number',
  activeStatus: 'boolean',
  autoStart: 'boolean',
  features: { healthMonitoring: 'boolean' },
  infrastructure: { persistence: { driver: 'string' } },
  rateLimit: { max: 'number', duration: 'number' },
  jobOptions: { attempts: 'number', backoff: { type: 'string', delay: 'number' } },
  isolation: 'string',
  placement: { nodes: 'string' },
  version: 'string',
  desiredVersion: 'string',
  processor: 'string',
  healthCheck: 'string',
  state: 'string',
  status: 'string',
  desired: 'string',
  paused: 'boolean',
  monitored: 'boolean',
  generation: 'number',
  observedGeneration: 'number',
  createdAt: 'string',
  updatedAt: 'string',
}

const operation: Shape = { id: 'string', state: 'string', generation: 'number', targets: ['string'], applied: ['string'], failed: [] }
const metrics = { completed: 'number', failed: 'number', successRate: 'number', avgDuration: 'number' }
const version: Shape = {
  version: 'string',
  description: 'string',
  processor: 'string',
  healthCheck: 'string',
  state: 'string',
  nodes: ['string'],
  busy: 'number',
  createdAt: 'string',
  activatedAt: 'string',
}
const schedule: Shape = {
  id: 'string',
  worker: 'string',
  name: 'string',
  pattern: 'string',
  tz: 'string',
  overlap: 'string',
  catchUp: 'string',
  nextAt: 'string',
}

export const workerAnswer: Shape = { ok: 'boolean', worker }
export const messageAnswer: Shape = { ok: 'boolean', message: 'string' }
export const operationAnswer: Shape = { ok: 'boolean', message: 'string', worker, operation }
export const stopAnswer: Shape = { ...operationAnswer, worker: { ...worker, stopped: { by: 'string', at: 'string' } } }
export const scaledAnswer: Shape = {
  ...operationAnswer,
  worker: { ...worker, scaled: { concurrency: 'number', reason: 'string', at: 'string' } },
}
export const operationStateAnswer: Shape = { ok: 'boolean', operation }
export const listAnswer: Shape = {
  ok: 'boolean',
  workers: [worker],
  pagination: { page: 'number', limit: 'number', total: 'number', totalPages: 'number' },
}
const node: Shape = {
  id: 'string',
  host: 'string',
  pid: 'number',
  region: 'string',
  consumes: 'boolean',
  draining: 'boolean',
  busy: 'number',
  startedAt: 'string',
  alive: 'boolean',
  leaseUntil: 'string',
  leaseMs: 'number',
}

export const nodesAnswer: Shape = { ok: 'boolean', nodes: [node] }

export const nodeAnswer: Shape = { ok: 'boolean', message: 'string', node }
export const workerNodesAnswer: Shape = {
  ok: 'boolean',
  nodes: [
    {
      node: 'string',
      state: 'string',
      observedGeneration: 'number',
      placed: 'boolean',
      version: 'string',
      draining: {},
      concurrency: 'number',
      busy: 'number',
      at: 'string',
    },
  ],
}
export const statusAnswer: Shape = {
  ok: 'boolean',
  status: {
    name: 'string',
    state: 'string',
    version: 'string',
    desiredVersion: 'string',
    health: 'number',
    queue: 'string',
    queuePaused: 'boolean',
    concurrency: 'number',
    metrics,
  },
}
export const metricsAnswer: Shape = {
  ok: 'boolean',
  metrics: { ...metrics, counts: { waiting: 'number', active: 'number', completed: 'number', failed: 'number', delayed: 'number' } },
}
export const countsAnswer: Shape = { ok: 'boolean', minutes: 'number', counts: [] }
export const healthAnswer: Shape = {
  ok: 'boolean',
  health: {
    name: 'string',
    score: 'number',
    terms: [],
    monitored: 'boolean',
    checks: [{ node: 'string', healthy: 'boolean', failures: 'number', durationMs: 'number', at: 'string' }],
  },
}
export const historyAnswer: Shape = {
  ok: 'boolean',
  hours: 'number',
  history: [{ node: 'string', at: 'string', healthy: 'boolean', score: 'number', durationMs: 'number', error: 'null' }],
}
/** A version that no node runs yet. */
export const newVersionAnswer: Shape = { ok: 'boolean', version: { ...version, nodes: [], healthCheck: 'null', activatedAt: 'null' } }
/** The running version comes first. */
export const versionsAnswer: Shape = { ok: 'boolean', versions: [version] }
export const enqueuedAnswer: Shape = {
  ok: 'boolean',
  deduplicated: 'boolean',
  job: { id: 'string', queue: 'string', deduplicated: 'boolean' },
}
export const flowAnswer: Shape = {
  ok: 'boolean',
  deduplicated: 'boolean',
  job: {
    worker: 'string',
    id: 'string',
    queue: 'string',
    deduplicated: 'boolean',
    children: [{ worker: 'string', id: 'string', queue: 'string', children: [] }],
  },
}
/** A waiting job. */
export const jobAnswer: Shape = {
  ok: 'boolean',
  job: {
    id: 'string',
    name: 'string',
    queue: 'string',
    status: 'string',
    priority: 'number',
    attempts: 'number',
    maxAttempts: 'number',
    stalls: 'number',
    progress: 'number',
    createdAt: 'string',
    startedAt: 'null',
    finishedAt: 'null',
    result: 'null',
    error: 'null',
    withheld: 'boolean',
  },
}
export const cancelledAnswer: Shape = { ok: 'boolean', message: 'string', outcome: 'string' }
export const scheduleAnswer: Shape = { ok: 'boolean', schedule }
export const schedulesAnswer: Shape = { ok: 'boolean', schedules: [schedule] }
