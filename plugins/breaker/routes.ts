import { defineRoute, type Route } from 'zin'
import type { Breaker } from './contract.js'
import { circuitResponse, nameParams } from './schema.js'

const use = ['ops']
const tag = 'workers'

/** Routes for the circuit breaker of a worker. */
export function breakerRoutes(breaker: Breaker): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/circuit',
      summary: 'State of the circuit breaker of a worker, with the reason',
      tag,
      use,
      params: nameParams,
      response: { 200: circuitResponse },
      handler: async ({ input }) => ({ ok: true, circuit: await breaker.status(input.params.name) }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/workers/:name/circuit/reset',
      summary: 'Close the circuits of a worker immediately',
      tag,
      use,
      params: nameParams,
      response: { 200: circuitResponse },
      handler: async ({ input }) => ({ ok: true, circuit: await breaker.reset(input.params.name) }),
    }),
  ]
}
