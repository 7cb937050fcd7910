import { defineRoute, type Route } from 'zin'
import type { Workers } from 'zin/plugins/workers'
import type { History } from './history.js'
import { healthResponse, historyQuery, historyResponse, monitoringResponse, nameParams, waitQuery } from './schema.js'

const use = ['ops']
const tag = 'workers'
const iso = (ms: number): string => new Date(ms).toISOString()

/** Routes for the health of workers and its monitoring. */
export function workerHealthRoutes(workers: () => Workers, history: History): readonly Route[] {
  const monitoring = (verb: 'start' | 'stop', summary: string): Route =>
    defineRoute({
      method: 'POST',
      path: `/api/workers/:name/monitoring/${verb}`,
      summary,
      tag,
      use,
      params: nameParams,
      query: waitQuery,
      response: { 200: monitoringResponse, 202: monitoringResponse },
      handler: async (ctx) => {
        const { params, query } = ctx.input
        const result = await workers().monitor(params.name, verb === 'start', { waitMs: query.wait })
        ctx.status = result.operation.state === 'applied' ? 200 : 202
        return { ok: true, ...result }
      },
    })

  return [
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/health',
      summary: 'Health score of a worker with its terms, and the last check on every node',
      tag,
      use,
      params: nameParams,
      response: { 200: healthResponse },
      handler: async ({ input }) => {
        const { name } = input.params
        const { checks, ...health } = await workers().health(name)
        return { ok: true, health: { name, ...health, checks: checks.map((check) => ({ ...check, at: iso(check.at) })) } }
      },
    }),
    monitoring('start', 'Start the health checks of a worker'),
    monitoring('stop', 'Stop the health checks of a worker'),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/monitoring/history',
      summary: 'Health check history of a worker, newest first',
      tag,
      use,
      params: nameParams,
      query: historyQuery,
      response: { 200: historyResponse },
      handler: async ({ input }) => {
        const { hours, limit } = input.query
        const samples = await history.read(input.params.name, hours, limit)
        return { ok: true, hours, history: samples.map(({ worker: _, at, ...sample }) => ({ ...sample, at: iso(at) })) }
      },
    }),
  ]
}
