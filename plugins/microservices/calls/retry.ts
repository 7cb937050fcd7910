import type { WireResult } from './transport.js'

const repeatable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])
const shortestMs = 50
const longestMs = 1000

/** Whether a call can be made twice: by its method (RFC 9110, 9.2.2), or because it says how to tell its repeats. */
export function isRepeatable(method: string, headers: Readonly<Record<string, string>>): boolean {
  return repeatable.has(method) || Object.keys(headers).some((name) => name.toLowerCase() === 'idempotency-key')
}

/** Whether another attempt may end otherwise. */
export function isPassing(result: WireResult): boolean {
  if (result.type === 'response') return passing.has(result.response.statusCode ?? 0)
  return result.type === 'connect' || result.type === 'lost'
}

/** The wait before attempt `attempt` (from 1 for the first repeat), in ms: full jitter, or what the service asks for. */
export function waitBefore(attempt: number, result: WireResult, random: number): number {
  const asked = result.type === 'response' ? Number(result.response.headers['retry-after']) * 1000 : Number.NaN
  return asked >= 0 ? asked : random * Math.min(shortestMs * 2 ** attempt, longestMs)
}
