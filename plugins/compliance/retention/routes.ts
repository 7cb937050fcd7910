import { defineRoute, type Route, Type } from 'zin'
import type { PurgeResult } from './retention.js'

const purgeResponse = Type.Object({
  ok: Type.Literal(true),
  before: Type.String({ description: 'ISO 8601' }),
  jobs: Type.Integer(),
  entries: Type.Integer({ description: 'Audit log entries' }),
  history: Type.Array(Type.String(), { description: 'History of plugins, as <plugin>.<data>' }),
  more: Type.Boolean({ description: 'Whether more is left for the next run' }),
  problems: Type.Array(Type.String()),
})

/** @param managed Runs the work as a management action. */
export function retentionRoutes(
  managed: (work: () => Promise<PurgeResult>) => Promise<PurgeResult>,
  run: () => Promise<PurgeResult>,
): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/compliance/retention/run',
      summary: 'Delete data older than WORKER_DATA_RETENTION now, without waiting for the hourly run',
      tag: 'compliance',
      use: ['ops'],
      response: { 200: purgeResponse },
      handler: async () => {
        const { history, problems, ...result } = await managed(run)
        return { ok: true as const, ...result, history: [...history], problems: [...problems] }
      },
    }),
  ]
}
