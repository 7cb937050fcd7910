import { defineRoute, type Route } from 'zin'
import type { Autoscale } from './contract.js'
import { listResponse, nameParams, statusResponse } from './schema.js'

const use = ['ops']
const tag = 'autoscale'

/** Routes of what the autoscaler decided. */
export function autoscaleRoutes(autoscale: Autoscale): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/autoscale',
      summary: 'How many workers should run, and why',
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
      summary: 'How many of a worker should run, and why; for metrics-api of KEDA as well',
      tag,
      use,
      params: nameParams,
      response: { 200: statusResponse },
      handler: async ({ input }) => ({ ok: true, ...(await autoscale.get(input.params.name)) }),
    }),
  ]
}
