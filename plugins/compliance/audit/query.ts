import type { AuditListOptions } from '../contract.js'
import { complianceErrors } from '../errors.js'
import type { EntryQuery } from './store/contract.js'

const longest = 250
const mostPages = 1_000_000

/** Returns a validated query with its page. Throws INVALID_AUDIT_QUERY. */
export function checkQuery({ limit = 100, page = 1, ...query }: AuditListOptions): EntryQuery & { page: number; limit: number } {
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw complianceErrors.INVALID_AUDIT_QUERY(what)
  }
  demand(Number.isInteger(page) && page >= 1 && page <= mostPages, `page must be 1 to ${mostPages}`)
  demand(Number.isInteger(limit) && limit >= 1 && limit <= 500, 'limit must be 1 to 500')
  for (const name of ['action', 'target', 'actor', 'outcome', 'requestId'] as const) {
    const text = query[name]
    demand(text === undefined || (typeof text === 'string' && text.length <= longest), `${name} must have at most ${longest} characters`)
  }
  for (const name of ['since', 'until'] as const) {
    const time = query[name]
    demand(time === undefined || (Number.isSafeInteger(time) && time >= 0), `${name} must be a time in ms since 1970`)
  }
  return { ...query, limit, page }
}

/** Parses ISO 8601 or ms since 1970. Throws INVALID_AUDIT_QUERY. */
export function timeOf(name: string, text: string): number {
  const at = /^\d{1,15}$/.test(text) ? Number(text) : /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw complianceErrors.INVALID_AUDIT_QUERY(`${name} must be ISO 8601, such as 2026-01-31T12:00:00Z, or ms since 1970`)
  return at
}
