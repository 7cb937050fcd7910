import { defineRoute, type Route } from 'zin'
import type { Audit } from './audit.js'
import { timeOf } from './query.js'
import { listQuery, listResponse, statusResponse, verifyResponse } from './schema.js'

const use = ['ops']
const tag = 'compliance'

export function auditRoutes(audit: Pick<Audit, 'entries' | 'status' | 'verify'>): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/compliance/audit',
      summary: 'Audit entries (who did what), newest first',
      tag,
      use,
      query: listQuery,
      response: { 200: listResponse },
      handler: async ({ input }) => {
        const { since, until, ...query } = input.query
        const times = {
          ...(since !== undefined && { since: timeOf('since', since) }),
          ...(until !== undefined && { until: timeOf('until', until) }),
        }
        const { entries, pagination } = await audit.entries({ ...query, ...times })
        return { ok: true as const, entries: entries.map((entry) => ({ ...entry, at: new Date(entry.at).toISOString() })), pagination }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/compliance/audit/status',
      summary: 'Whether the responding process can write the audit log',
      tag,
      use,
      response: { 200: statusResponse },
      handler: () => ({ ok: true as const, ...audit.status }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/compliance/audit/verify',
      summary: 'Verify the whole audit log against its hashes and seals',
      tag,
      use,
      response: { 200: verifyResponse },
      handler: async () => {
        const { fault, faults, ...report } = await audit.verify()
        return { ok: true as const, ...report, fault: fault ?? null, faults: [...faults] }
      },
    }),
  ]
}
