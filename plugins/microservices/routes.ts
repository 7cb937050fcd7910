import { defineRoute, type Manage, type Route, type RouteContext } from 'zin'
import type { Microservices } from './contract.js'
import { callBody, callResponse, listResponse, nameParams, serviceResponse } from './schema.js'

/** Throws if the caller lacks a permission. */
export type Demand = (ctx: RouteContext, permission: string) => void

const use = ['ops']
const tag = 'services'

/** Routes for operators to list, start, stop and call services. */
export function microserviceRoutes(services: Microservices, demand: Demand, manage: Manage): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/services',
      summary: 'List all services with their states and instances',
      tag,
      use,
      response: { 200: listResponse },
      handler: () => ({ services: services.list() }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/services/:name/start',
      summary: 'Start a service; responds when it is running',
      tag,
      use,
      params: nameParams,
      response: { 200: serviceResponse },
      handler: async (ctx) => {
        demand(ctx, 'services:manage')
        return { ok: true, service: await services.startService(ctx.input.params.name) }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/services/:name/stop',
      summary: 'Stop a service; responds when it is drained and stopped',
      tag,
      use,
      params: nameParams,
      response: { 200: serviceResponse },
      handler: async (ctx) => {
        demand(ctx, 'services:manage')
        return { ok: true, service: await services.stopService(ctx.input.params.name) }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/services/:name/call',
      summary: 'Call a service with the credential of the app',
      tag,
      use,
      params: nameParams,
      body: callBody,
      response: { 200: callResponse },
      handler: async (ctx) => {
        demand(ctx, 'services:call')
        const { params, body } = ctx.input
        const action = { action: 'service.call', target: `service:${params.name}` }
        const { status, headers, data } = await manage(action, async (note) => {
          const response = await services.callService(params.name, body)
          // A query may contain secrets.
          note({ after: { method: body.method, path: body.path.replace(/[?#].*$/s, ''), status: response.status } })
          return response
        })
        return {
          status,
          headers,
          ...(data === undefined ? {} : { data: data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data }),
        }
      },
    }),
  ]
}
