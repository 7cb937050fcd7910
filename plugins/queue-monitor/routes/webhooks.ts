import { defineRoute, type Route } from 'zin'
import type { DeliveryLog } from '../deliveries/log.js'
import {
  deliveriesQuery,
  deliveriesResponse,
  deliveryParams,
  deliveryResponse,
  endpointBody,
  endpointParams,
  endpointPatch,
  endpointResponse,
  endpointsResponse,
  removedResponse,
  resentResponse,
} from '../schema/webhooks.js'
import type { Endpoints } from '../webhooks/endpoints.js'
import type { ScopeOf } from './reads.js'

const use = ['monitor']
const tag = 'queue monitor'
const bodyLimit = 16 * 1024

/** Routes for webhook endpoints and the delivery log. */
export function webhookRoutes(endpoints: Endpoints, log: DeliveryLog, scopeOf: ScopeOf): readonly Route[] {
  const enable = (verb: 'enable' | 'disable', summary: string): Route =>
    defineRoute({
      method: 'POST',
      path: `/api/queue/webhooks/endpoints/:id/${verb}`,
      summary,
      tag,
      use,
      params: endpointParams,
      response: { 200: endpointResponse },
      handler: async (ctx) => ({
        ok: true,
        webhook: await endpoints.setEnabled(ctx.input.params.id, verb === 'enable', scopeOf(ctx)),
      }),
    })

  return [
    defineRoute({
      method: 'GET',
      path: '/api/queue/webhooks',
      summary: 'List webhook endpoints: from the options, from alerts, and added here',
      tag,
      use,
      response: { 200: endpointsResponse },
      handler: async (ctx) => ({ webhooks: [...(await endpoints.list(scopeOf(ctx)))] }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/queue/webhooks',
      summary: 'Add an endpoint for queue events; requires admin',
      description: 'Requests carry Standard Webhooks headers, signed with monitor.webhookSecret.',
      tag,
      use,
      body: endpointBody,
      bodyLimit,
      response: { 201: endpointResponse },
      handler: async (ctx) => {
        const webhook = await endpoints.add(ctx.input.body, scopeOf(ctx))
        ctx.status = 201
        return { ok: true as const, webhook }
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/queue/webhooks/endpoints/:id',
      summary: 'Change the events, queues or description of an endpoint that was added here; requires admin',
      tag,
      use,
      params: endpointParams,
      body: endpointPatch,
      bodyLimit,
      response: { 200: endpointResponse },
      handler: async (ctx) => ({ ok: true, webhook: await endpoints.update(ctx.input.params.id, ctx.input.body, scopeOf(ctx)) }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/queue/webhooks/endpoints/:id',
      summary: 'Remove an endpoint that was added here; requires admin',
      tag,
      use,
      params: endpointParams,
      response: { 200: removedResponse },
      handler: (ctx) => endpoints.remove(ctx.input.params.id, scopeOf(ctx)),
    }),
    enable('enable', 'Resume deliveries to an endpoint, for new events; requires admin'),
    enable('disable', 'Stop deliveries to an endpoint; requires admin'),
    defineRoute({
      method: 'GET',
      path: '/api/queue/webhooks/deliveries',
      summary: 'List deliveries: failed, then pending, then delivered ones, each newest first',
      tag,
      use,
      query: deliveriesQuery,
      response: { 200: deliveriesResponse },
      handler: (ctx) => log.list(ctx.input.query, scopeOf(ctx)) as never,
    }),
    defineRoute({
      method: 'GET',
      path: '/api/queue/webhooks/deliveries/:id',
      summary: 'A delivery with its attempts and its body',
      tag,
      use,
      params: deliveryParams,
      response: { 200: deliveryResponse },
      handler: (ctx) => log.get(ctx.input.params.id, scopeOf(ctx)) as never,
    }),
    defineRoute({
      method: 'POST',
      path: '/api/queue/webhooks/deliveries/:id/resend',
      summary: 'Resend a failed delivery with the same id, or a delivered one with a new id; requires admin',
      tag,
      use,
      params: deliveryParams,
      response: { 200: resentResponse },
      handler: (ctx) => log.resend(ctx.input.params.id, scopeOf(ctx)),
    }),
  ]
}
