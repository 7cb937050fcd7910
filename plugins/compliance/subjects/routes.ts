import { Readable } from 'node:stream'
import { defineRoute, type Route } from 'zin'
import type { Ops } from 'zin/plugins/ops'
import { eraseQuery, erasureParams, erasureResponse, exportResponse, subjectParams } from './schema.js'
import type { Subjects } from './service.js'

const use = ['ops']
const tag = 'compliance'
/** The permission that all subject routes require. */
const permission = 'compliance:subjects'

/** Routes that export and erase the data of subjects. */
export function subjectRoutes(subjects: Subjects, ops: Ops): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/compliance/subjects/:id/export',
      privatePath: true,
      summary: 'All data that the app stores about a subject',
      description:
        'Jobs in all states with their decrypted data, results, errors and logs, plus the records of other plugins. Requires the permission compliance:subjects.',
      tag,
      use,
      params: subjectParams,
      response: { 200: exportResponse },
      async handler(ctx) {
        ops.demand(ctx, permission)
        const pieces = await subjects.export(ctx.input.params.id)
        ctx.type = 'application/json'
        // One piece ahead: each may be as large as a job.
        ctx.body = Readable.from(pieces, { highWaterMark: 1 })
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/compliance/subjects/:id',
      privatePath: true,
      summary: 'Erase all data that the app stores about a subject',
      description:
        'Removes jobs in all states; running jobs are removed when they end. A 202 means that it is still in progress: GET /api/compliance/erasures/:id shows how far it is. Requires the permission compliance:subjects.',
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
      privatePath: true,
      summary: 'Progress of an erasure',
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
