import { defineRoute, type Route } from 'zin'
import type { Ops } from 'zin/plugins/ops'
import { eraseQuery, erasureParams, erasureResponse, exportResponse, subjectParams } from './schema.js'
import type { Subjects } from './service.js'

const use = ['ops']
const tag = 'compliance'
/** The permission of all routes about subjects. */
const permission = 'compliance:subjects'

/** The rights of subjects. */
export function subjectRoutes(subjects: Subjects, ops: Ops): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/compliance/subjects/:id/export',
      summary: 'Everything that the app keeps about a subject',
      description:
        'Jobs of all states with data, results, errors and logs as they were added, and what other plugins keep. Requires the permission compliance:subjects.',
      tag,
      use,
      params: subjectParams,
      response: { 200: exportResponse },
      async handler(ctx) {
        ops.demand(ctx, permission)
        return { ok: true as const, ...(await subjects.export(ctx.input.params.id)) }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/compliance/subjects/:id',
      summary: 'Erase everything that the app keeps about a subject',
      description:
        'Removes jobs of all states; running ones when they end. 202: it goes on, and GET /api/compliance/erasures/:id shows its progress. Requires the permission compliance:subjects.',
      tag,
      use,
      params: subjectParams,
      query: eraseQuery,
      response: { 200: erasureResponse, 202: erasureResponse },
      async handler(ctx) {
        ops.demand(ctx, permission)
        const erasure = await subjects.erase(ctx.input.params.id, ops.actor(), ctx.input.query.wait)
        ctx.status = erasure.state === 'running' || erasure.state === 'waiting' ? 202 : 200
        return { ok: true as const, erasure }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/compliance/erasures/:id',
      summary: 'The progress of an erasure',
      tag,
      use,
      params: erasureParams,
      response: { 200: erasureResponse },
      async handler(ctx) {
        ops.demand(ctx, permission)
        return { ok: true as const, erasure: await subjects.erasure(ctx.input.params.id) }
      },
    }),
  ]
}
