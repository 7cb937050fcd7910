import { createHmac } from 'node:crypto'

/**
 * Returns a keyed digest of a state, 64 hex digits; null for null or undefined. Equal states have equal digests regardless of field order.
 * Without the key, states cannot be guessed from their digest.
 */
export function digestOf(key: Buffer, value: unknown): string | null {
  if (value === null || value === undefined) return null
  return createHmac('sha256', key)
    .update(JSON.stringify(sorted(value)) ?? 'null')
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const entries = Object.entries(value).map(([name, one]) => [name, sorted(one)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
