import { defineRoute, type Route } from 'zin'
import { withoutErrorMessages } from 'zin/plugins/decisions'
import type { Workers } from '../contract.js'
import { documented } from '../documented.js'
import { nameParams, operationAnswer } from '../schema/common.js'
import { activateQuery, versionAnswer, versionBody, versionParams, versionsAnswer } from '../schema/versions.js'
import { type Access, answerOf, onMissing, recordLimit, tag, use } from './shared.js'

/** Versions of a worker. */
export function versionRoutes(workers: Workers, { demand, viewer }: Access): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/versions',
      summary: 'List the versions of a worker, and the nodes that run them',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      response: { 200: versionsAnswer },
      handler: async (ctx) => {
        const versions = await workers.versions(ctx.input.params.name)
        // The evidence of a refusal may hold errors of jobs.
        return { ok: true, versions: viewer(ctx).may('payload:read') ? versions : withoutErrorMessages(versions) }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/workers/:name/versions',
      summary: 'Register a version; it gets no jobs before it is activated',
      tag,
      use,
      params: nameParams,
      body: versionBody,
      documented: documented.register,
      bodyLimit: recordLimit,
      onInvalid: onMissing,
      response: { 201: versionAnswer },
      handler: async (ctx) => {
        await demand(ctx, 'workers:deploy')
        const version = await workers.registerVersion(ctx.input.params.name, ctx.input.body as never)
        ctx.status = 201
        return { ok: true, version }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/workers/:name/versions/:version/activate',
      summary: 'Roll a version out, one node after another; activate an earlier version to roll back',
      tag,
      use,
      params: versionParams,
      documented: documented.activate,
      query: activateQuery,
      response: { 200: operationAnswer, 202: operationAnswer },
      handler: async (ctx) => {
        await demand(ctx, 'workers:deploy')
        const { params, query } = ctx.input
        return answerOf(ctx, await workers.activate(params.name, params.version, { waitMs: query.wait, force: query.force }))
      },
    }),
  ]
}
