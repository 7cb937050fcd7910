/** The shape of a JSON value: the types of its fields, and of the first item of a list. */
export type Shape = string | readonly Shape[] | { readonly [key: string]: Shape }

/** `{ok: true, list: [{n: 1}], none: null}` → `{ok: 'boolean', list: [{n: 'number'}], none: 'null'}`. */
export function shapeOf(value: unknown): Shape {
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object') return typeof value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, shapeOf(field)]))
}
