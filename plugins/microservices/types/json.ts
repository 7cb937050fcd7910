export type Json = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns an own property, never an inherited one. */
export function ownValue(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** Formats a value of a document for a comment. */
export function wordOf(value: unknown): string {
  return typeof value === 'object' || value === undefined ? 'of another type' : String(value)
}

/** Returns `Name` for a reference like `#/components/schemas/Name`; undefined for any other reference. */
export function refName(ref: unknown, section: string): string | undefined {
  const prefix = `#/components/${section}/`
  if (typeof ref !== 'string' || !ref.startsWith(prefix)) return undefined
  try {
    const name = decodeURIComponent(ref.slice(prefix.length))
    return name.includes('/') ? undefined : name.replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}
