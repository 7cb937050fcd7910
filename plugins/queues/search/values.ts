import type { Place } from './contract.js'

/** Maximum length of a searchable value, in characters. */
export const longestValue = 200

/** The values at the given places as text: strings, numbers and booleans, including those in lists. Pure. */
export function valuesAt(data: unknown, places: readonly Place[]): readonly string[] {
  const texts = places.flatMap((place) => [at(data, place)].flat()).flatMap((value) => textOf(value) ?? [])
  return [...new Set(texts)]
}

function at(data: unknown, place: Place): unknown {
  let found = data
  for (const name of place) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  return found
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  return typeof text === 'string' && text.length >= 1 && text.length <= longestValue ? text : undefined
}
