import { replacement } from './redact.js'

/**
 * Restores redacted values in edited data: each value that is still the placeholder is replaced by the original value at the same path.
 * Pure.
 */
export function unredact(edited: unknown, original: unknown): unknown {
  if (edited === replacement) return original === undefined ? edited : original
  if (typeof edited !== 'object' || edited === null || typeof original !== 'object' || original === null) return edited
  if (Array.isArray(edited)) return Array.isArray(original) ? edited.map((item, i) => unredact(item, original[i])) : edited
  const known = original as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(edited).map(([key, value]) => [key, unredact(value, Object.hasOwn(known, key) ? known[key] : undefined)]),
  )
}
