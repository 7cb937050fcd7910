import { defineRoute, type Route } from 'zin'
import type { Workers } from '../contract.js'
import { documented } from '../documented.js'
import { jobParams, messageAnswer, nameParams, operationAnswer, waitQuery } from '../schema/common.js'
import {
  createBody,
  listAnswer,
  listQuery,
  metricsAnswer,
  operationStateAnswer,
  scaleBody,
  statusAnswer,
  updateBody,
  workerAnswer,
  workerNodesAnswer,
} from '../schema/workers.js'
import { answerOf, type Demand, onMissing, recordLimit, tag, use, writesQueues } from './shared.js'

const verbs = {
  start: 'Start a worker',
  stop: 'Stop a worker, letting its running jobs end',
  restart: 'Stop and start a worker on every node',
  pause: 'Pause a worker; running jobs continue',
  resume: 'Resume a paused worker',
} as const

/** Workers: their records and desired states. */
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
        await demand(ctx, writesQueues)
        // A path or URL makes nodes load code; the other fields determine which code runs, and where.
        const deploys = [body.processor, body.healthCheck, body.version, body.isolation].some((field) => field !== undefined)
        if (deploys) await demand(ctx, 'workers:deploy')
        const mayOpen = (creates: boolean) => (creates ? demand(ctx, 'workers:deploy') : undefined)
        const worker = await workers.create(body as never, { places: 'configured', mayOpen })
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
      path: '/api/workers/:name',
      summary: 'Get a worker',
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
      summary: 'Change fields of a worker; omitted fields stay unchanged',
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
        if (body.queueName !== undefined) await demand(ctx, writesQueues)
        // It can move isolated code into the process of the app.
        if (body.isolation !== undefined) await demand(ctx, 'workers:deploy')
        return answerOf(ctx, await workers.update(params.name, body as never, { waitMs: query.wait }))
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/workers/:name',
      summary: 'Stop and remove a worker and its schedules; its queue and jobs stay',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      query: waitQuery,
      response: { 200: messageAnswer },
      handler: async (ctx) => {
        const { params, query } = ctx.input
        // It removes the schedules, too.
        await demand(ctx, writesQueues)
        // Otherwise a caller without the permission could remove the code and create the worker again without it.
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
      summary: 'Set how many jobs run in parallel on each node, overriding the record; nothing restarts',
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
      summary: 'Get the progress of an operation of the last 24 hours',
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
      summary: 'Get the state, health and metrics of a worker',
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
      summary: 'Get the status of a worker on each node',
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
      summary: 'Get the attempts of a worker and the jobs in its queue',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      response: { 200: metricsAnswer },
      handler: async ({ input }) => ({ ok: true, metrics: await workers.metrics(input.params.name) }),
    }),
  ]
}
