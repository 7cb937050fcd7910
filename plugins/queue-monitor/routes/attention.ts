import type { Context } from 'koa'
import { defineRoute, type Route } from 'zin'
import type { Asker, Attention } from '../attention/attention.js'
import { acknowledgeBody, acknowledgedResponse, attentionParams, attentionQuery, attentionResponse } from '../schema/attention.js'

const use = ['monitor']
const tag = 'queue monitor'

/** Routes for what needs attention. */
export function attentionRoutes(attention: Attention, askerOf: (ctx: Context) => Asker): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/attention',
      summary: 'What needs attention in the app, and what could not be checked',
      description: 'At most half a minute old. Credentials for queues get what concerns their queues.',
      tag,
      use,
      query: attentionQuery,
      response: { 200: attentionResponse },
      handler: async (ctx) => {
        const { acknowledged } = ctx.input.query
        const { at, items, notChecked } = await attention.list(askerOf(ctx))
        const wanted = items.filter((one) => acknowledged === undefined || acknowledged === (one.acknowledged !== undefined))
        return { ok: true as const, at, items: wanted, notChecked } as never
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/attention/:id/acknowledge',
      summary: 'Acknowledge an item with a note, until its cause has gone; requires write',
      tag,
      use,
      params: attentionParams,
      body: acknowledgeBody,
      bodyLimit: 64 * 1024,
      response: { 200: acknowledgedResponse },
      handler: async (ctx) => {
        const { body, params } = ctx.input
        return { ok: true as const, item: await attention.acknowledge(params.id, body.note, askerOf(ctx)) } as never
      },
    }),
  ]
}
