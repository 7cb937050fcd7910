/** Placeholder for redacted values. */
export const replacement = '[redacted]'
const deepest = 100

/** Normalizes a field name for comparison: lower case, without `-` and `_`. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/** Whether a field is redacted: its name contains one of `names`. */
export function isSecret(field: string, names: readonly string[]): boolean {
  const name = plain(field)
  return names.some((part) => name.includes(plain(part)))
}

/**
 * Replaces the values of fields whose name contains one of `names`, at any depth. Values nested deeper than 100 levels are also replaced.
 */
export function redact(value: unknown, names: readonly string[]): unknown {
  const secret = names.map(plain)
  const walk = (one: unknown, depth: number): unknown => {
    if (typeof one !== 'object' || one === null) return one
    if (depth > deepest) return replacement
    if (Array.isArray(one)) return one.map((item) => walk(item, depth + 1))
    return Object.fromEntries(
      Object.entries(one).map(([key, item]) => {
        const name = plain(key)
        return [key, secret.some((part) => name.includes(part)) ? replacement : walk(item, depth + 1)]
      }),
    )
  }
  return walk(value, 0)
}
