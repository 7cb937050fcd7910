/** Describes the kind of a value for messages. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Promise) return 'a promise'
  if (typeof value === 'object') return 'spec' in value ? 'a plugin' : 'an object'
  return typeof value === 'function' ? 'a function' : `a ${typeof value}`
}
