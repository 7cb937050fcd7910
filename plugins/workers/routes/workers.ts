import { defineRoute, type Route } from 'zin'
import type { Workers } from '../contract.js'
import { documented } from '../documented.js'
import { jobParams, messageAnswer, nameParams, operationAnswer, waitQuery } from '../schema/common.js'
import {
  createBody,
  listAnswer,
  listQuery,
  metricsAnswer,
  nodesAnswer,
  operationStateAnswer,
  scaleBody,
  statusAnswer,
  updateBody,
  workerAnswer,
  workerNodesAnswer,
} from '../schema/workers.js'
import { answerOf, type Demand, onMissing, recordLimit, tag, use } from './shared.js'

const verbs = {
  start: 'Start a worker',
  stop: 'Stop a worker, letting its running jobs end',
  restart: 'Stop a worker and start it anew, in every process',
  pause: 'Take no more jobs; running ones go on',
  resume: 'Take jobs again',
} as const

/** Workers: their records, and what they should do. */
export function workerRoutes(workers: Workers, demand: Demand): readonly Route[] {
  const createAt = (path: string): Route =>
    defineRoute({
      method: 'POST',
      path,
      summary: 'Create a worker',
      tag,
      use,
      body: createBody,
      documented: documented.create,
      bodyLimit: recordLimit,
      onInvalid: onMissing,
      response: { 201: workerAnswer },
      handler: async (ctx) => {
        const { body } = ctx.input
        // A path or URL makes a process load code, and the others say which code runs, and where.
        const deploys = [body.processor, body.healthCheck, body.version, body.isolation].some((field) => field !== undefined)
        if (deploys) await demand(ctx, 'workers:deploy')
        const worker = await workers.create(body as never, { places: 'configured' })
        ctx.status = 201
        return { ok: true, worker }
      },
    })

  const operationAt = (verb: keyof typeof verbs): Route =>
    defineRoute({
      method: 'POST',
      path: `/api/workers/:name/${verb}`,
      summary: verbs[verb],
      tag,
      use,
      params: nameParams,
      documented: documented.named,
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
      path: '/api/nodes',
      summary: 'Processes of the app that run or manage workers, and those lost lately',
      tag,
      use,
      response: { 200: nodesAnswer },
      handler: async () => ({ ok: true, nodes: await workers.nodes() }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name',
      summary: 'One worker',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      response: { 200: workerAnswer },
      handler: async ({ input }) => ({ ok: true, worker: await workers.get(input.params.name) }),
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/workers/:name',
      summary: 'Change fields of a worker; what is left out stays',
      tag,
      use,
      params: nameParams,
      query: waitQuery,
      body: updateBody,
      documented: documented.update,
      bodyLimit: recordLimit,
      response: { 200: operationAnswer, 202: operationAnswer },
      handler: async (ctx) => {
        const { body, params, query } = ctx.input
        // It can bring code that was kept apart into the app itself.
        if (body.isolation !== undefined) await demand(ctx, 'workers:deploy')
        return answerOf(ctx, await workers.update(params.name, body as never, { waitMs: query.wait }))
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/workers/:name',
      summary: 'Stop and forget a worker with its schedules; its queue and jobs stay',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      query: waitQuery,
      response: { 200: messageAnswer },
      handler: async (ctx) => {
        const { params, query } = ctx.input
        // What names code goes with it, and could be made anew without.
        const versions = await workers.versions(params.name)
        if (versions.some(({ processor, healthCheck }) => processor !== null || healthCheck !== null)) await demand(ctx, 'workers:deploy')
        await workers.remove(params.name, { waitMs: query.wait })
        return { ok: true, message: `Worker "${params.name}" is removed` }
      },
    }),
    ...(Object.keys(verbs) as (keyof typeof verbs)[]).map(operationAt),
    defineRoute({
      method: 'POST',
      path: '/api/workers/:name/scale',
      summary: 'Run more or fewer jobs in parallel, beside what the record says; nothing restarts',
      tag,
      use,
      params: nameParams,
      query: waitQuery,
      body: scaleBody,
      documented: documented.scale,
      response: { 200: operationAnswer, 202: operationAnswer },
      handler: async (ctx) => {
        const { body, params, query } = ctx.input
        const { concurrency, ...reason } = body
        return answerOf(ctx, await workers.scale(params.name, concurrency as never, { ...(reason as object), waitMs: query.wait }))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/operations/:id',
      summary: 'How far an operation of the last 24 hours has come',
      tag,
      use,
      params: jobParams,
      documented: documented.job,
      response: { 200: operationStateAnswer },
      handler: async ({ input }) => ({ ok: true, operation: await workers.operation(input.params.name, input.params.id) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/status',
      summary: 'State, health and metrics of a worker',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      response: { 200: statusAnswer },
      handler: async ({ input }) => ({ ok: true, status: await workers.status(input.params.name) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/nodes',
      summary: 'What each process does for a worker',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      response: { 200: workerNodesAnswer },
      handler: async ({ input }) => ({ ok: true, nodes: await workers.nodesOf(input.params.name) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/metrics',
      summary: 'Attempts of a worker and jobs in its queue',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      response: { 200: metricsAnswer },
      handler: async ({ input }) => ({ ok: true, metrics: await workers.metrics(input.params.name) }),
    }),
  ]
}
