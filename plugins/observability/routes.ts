import { defineRoute, type Route } from 'zin'
import type { Metrics } from './contract.js'
import { metricsText } from './schema.js'

/** The metrics on the main port, for operators. */
export function metricsRoutes(metrics: Metrics): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/metrics',
      summary: 'Metrics of this process in Prometheus or OpenMetrics format',
      use: ['ops'],
      response: { 200: metricsText },
      handler: async (ctx) => {
        const { body, contentType } = await metrics.page(ctx.get('accept'))
        ctx.type = contentType
        ctx.set('vary', 'accept')
        ctx.set('cache-control', 'no-store')
        return body
      },
    }),
  ]
}
