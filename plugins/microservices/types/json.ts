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

/** A property of the object itself. */
export function ownValue(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** A value of a document, to be named in a comment. */
export function wordOf(value: unknown): string {
  return typeof value === 'object' || value === undefined ? 'of another type' : String(value)
}

/** The name that a reference like `#/components/schemas/Name` has in its section; undefined for other references. */
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
