import type { WireResult } from './transport.js'

const repeatable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
const transientStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])
const shortestMs = 50
const longestMs = 1000

/** Returns whether a call can be repeated safely: its method is idempotent (RFC 9110, 9.2.2), or it has an idempotency key. */
export function isRepeatable(method: string, headers: Readonly<Record<string, string>>): boolean {
  return repeatable.has(method) || Object.keys(headers).some((name) => name.toLowerCase() === 'idempotency-key')
}

/** Returns whether a failure is transient, so that a retry may succeed. */
export function isTransient(result: WireResult): boolean {
  if (result.type === 'response') return transientStatuses.has(result.response.statusCode ?? 0)
  return result.type === 'connect' || result.type === 'lost'
}

/**
 * Returns the wait before a retry, in ms: `Retry-After` if the service sent it, otherwise backoff with full jitter.
 *
 * @param attempt 1 for the first retry.
 */
export function waitBefore(attempt: number, result: WireResult, random: number): number {
  const asked = result.type === 'response' ? Number(result.response.headers['retry-after']) * 1000 : Number.NaN
  return asked >= 0 ? asked : random * Math.min(shortestMs * 2 ** attempt, longestMs)
}
