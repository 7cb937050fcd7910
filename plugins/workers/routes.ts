import { defineRoute, type Route, type RouteContext } from 'zin'
import {
  createBody,
  enqueueBody,
  enqueuedAnswer,
  jobAnswer,
  jobParams,
  listAnswer,
  listQuery,
  messageAnswer,
  metricsAnswer,
  nameParams,
  operationAnswer,
  statusAnswer,
  waitQuery,
  workerAnswer,
} from './schema.js'
import type { OperationResult, Workers } from './types.js'

/** Refuses a caller who lacks a permission. */
export type Demand = (ctx: RouteContext, permission: string) => void | Promise<void>

const use = ['ops']
const tag = 'workers'
/** A record is small; whatever is larger is no record. */
const recordLimit = 64 * 1024

/** The worker API. */
export function workerRoutes(workers: Workers, demand: Demand): readonly Route[] {
  const createAt = (path: string): Route =>
    defineRoute({
      method: 'POST',
      path,
      summary: 'Create a worker',
      tag,
      use,
      body: createBody,
      bodyLimit: recordLimit,
      response: { 201: workerAnswer },
      handler: async (ctx) => {
        const { body } = ctx.input
        // A path makes this process load code.
        if (body.processor !== undefined) await demand(ctx, 'workers:deploy')
        const worker = await workers.create(body as never, { waitMs: 10_000 })
        ctx.status = 201
        return { ok: true, worker }
      },
    })

  const operationAt = (verb: 'start' | 'stop' | 'restart', summary: string): Route =>
    defineRoute({
      method: 'POST',
      path: `/api/workers/:name/${verb}`,
      summary,
      tag,
      use,
      params: nameParams,
      query: waitQuery,
      response: { 200: operationAnswer, 202: operationAnswer },
      handler: async (ctx) => answerOf(ctx, await workers[verb](ctx.input.params.name, { waitMs: ctx.input.query.wait })),
    })

  return [
    defineRoute({
      method: 'GET',
      path: '/api/workers',
      summary: 'List workers',
      tag,
      use,
      query: listQuery,
      response: { 200: listAnswer },
      handler: async ({ input }) => ({ ok: true, ...(await workers.list(input.query)) }),
    }),
    createAt('/api/workers'),
    createAt('/api/workers/create'),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name',
      summary: 'One worker',
      tag,
      use,
      params: nameParams,
      response: { 200: workerAnswer },
      handler: async ({ input }) => ({ ok: true, worker: await workers.get(input.params.name) }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/workers/:name',
      summary: 'Stop and forget a worker; its queue and jobs stay',
      tag,
      use,
      params: nameParams,
      query: waitQuery,
      response: { 200: messageAnswer },
      handler: async ({ input }) => {
        await workers.remove(input.params.name, { waitMs: input.query.wait })
        return { ok: true, message: `Worker "${input.params.name}" is removed` }
      },
    }),
    operationAt('start', 'Start a worker'),
    operationAt('stop', 'Stop a worker, letting its running jobs end'),
    operationAt('restart', 'Restart a worker'),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/status',
      summary: 'State, health and metrics of a worker',
      tag,
      use,
      params: nameParams,
      response: { 200: statusAnswer },
      handler: async ({ input }) => ({ ok: true, status: await workers.status(input.params.name) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/metrics',
      summary: 'Attempts of a worker and jobs in its queue',
      tag,
      use,
      params: nameParams,
      response: { 200: metricsAnswer },
      handler: async ({ input }) => ({ ok: true, metrics: await workers.metrics(input.params.name) }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/workers/:name/jobs',
      summary: 'Add a job to the queue of a worker',
      tag,
      use,
      params: nameParams,
      body: enqueueBody,
      response: { 202: enqueuedAnswer },
      handler: async (ctx) => {
        const { data = null, options } = ctx.input.body
        const job = await workers.enqueue(ctx.input.params.name, data, options as never)
        ctx.status = 202
        return { ok: true, job }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/jobs/:id',
      summary: 'One job of a worker: its status, result and error',
      tag,
      use,
      params: jobParams,
      response: { 200: jobAnswer },
      handler: async ({ input }) => ({ ok: true, job: await workers.job(input.params.name, input.params.id) }),
    }),
  ]
}

/** 200 when every target has applied it, else 202. */
function answerOf(ctx: RouteContext, result: OperationResult): object {
  const { targets, applied } = result.operation
  ctx.status = targets.length > 0 && applied.length === targets.length ? 200 : 202
  return { ok: true, ...result }
}
