import { defineRoute, type Route } from 'zin'
import type { Autoscale } from './contract.js'
import { listResponse, nameParams, statusResponse } from './schema.js'

const use = ['ops']
const tag = 'autoscale'

/** Routes for the status of the autoscaler. `guard`: key of the middleware of the one that a scaler reads. */
export function autoscaleRoutes(autoscale: Autoscale, guard: 'ops' | 'scaler'): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/autoscale',
      summary: 'Desired number of workers, with the reason',
      tag,
      use,
      response: { 200: listResponse },
      handler: async () => {
        const { dryRun, enabled } = autoscale
        return { ok: true, enabled, dryRun, workers: [...(await autoscale.list())] }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/autoscale',
      summary: 'Desired number of one worker, with the reason; also for the metrics-api scaler of KEDA',
      tag,
      use: [guard],
      params: nameParams,
      response: { 200: statusResponse },
      handler: async ({ input }) => ({ ok: true, ...(await autoscale.get(input.params.name)) }),
    }),
  ]
}
