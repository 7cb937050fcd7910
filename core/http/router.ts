import type { Layer } from '@koa/router'
import { Router } from '@koa/router'
import { httpErrors } from './errors.js'
import type { HttpMethod } from './route.js'

/** The entry of a route table for one method and path. */
export interface RouterEntry<T> {
  readonly method: HttpMethod
  readonly path: string
  readonly value: T
}

export interface Match<T> {
  readonly value: T
  /** Decoded. */
  readonly params: Record<string, string>
}

interface Bucket<T> {
  readonly router: Router
  readonly values: ReadonlyMap<Layer, T>
}

/**
 * Finds the route for a method and a raw path, strictly and case-sensitively. Static paths are looked up in a map; paths
 * with parameters go through @koa/router, most specific first, in buckets by their first two segments, so that few are tried.
 */
export class RouteTable<T> {
  readonly #fixed = new Map<string, Map<HttpMethod, T>>()
  readonly #buckets = new Map<string, Bucket<T>>()

  constructor(entries: readonly RouterEntry<T>[]) {
    for (const { method, path, value } of entries) {
      if (isStatic(path)) this.#fixed.set(path, (this.#fixed.get(path) ?? new Map<HttpMethod, T>()).set(method, value))
    }
    const open = entries.filter((entry) => !isStatic(entry.path)).sort((a, b) => compareSpecificity(a.path, b.path))
    const keys = new Set(['', ...open.flatMap(({ path }) => [bucketKey(path, 1), bucketKey(path, 2)])])
    for (const key of keys) this.#buckets.set(key, bucketOf(open.filter((entry) => fitsBucket(entry.path, key))))
  }

  /** A HEAD request finds the GET route. */
  find(method: string, path: string): Match<T> | undefined {
    const wanted = (method === 'HEAD' ? 'GET' : method) as HttpMethod
    const fixed = this.#fixed.get(path)?.get(wanted)
    if (fixed !== undefined) return { value: fixed, params: {} }
    const bucket = this.#bucketFor(path)
    const layer = bucket.router.match(path, wanted).pathAndMethod[0]
    if (!layer) return undefined
    return { value: bucket.values.get(layer) as T, params: decodeParams(layer, path) }
  }

  /** Methods that a path supports, for `Allow`; empty if it matches no route. */
  allowed(path: string): readonly string[] {
    const methods = new Set<string>(this.#fixed.get(path)?.keys())
    for (const layer of this.#bucketFor(path).router.match(path, 'GET').path) for (const method of layer.methods) methods.add(method)
    if (methods.size === 0) return []
    if (methods.has('GET')) methods.add('HEAD')
    return [...methods.add('OPTIONS')].sort()
  }

  #bucketFor(path: string): Bucket<T> {
    const first = path.indexOf('/', 1)
    if (first !== -1) {
      const second = path.indexOf('/', first + 1)
      const found = this.#buckets.get(second === -1 ? path : path.slice(0, second)) ?? this.#buckets.get(path.slice(0, first))
      if (found) return found
    }
    return (this.#buckets.get(path) ?? this.#buckets.get('')) as Bucket<T>
  }
}

function bucketOf<T>(entries: readonly RouterEntry<T>[]): Bucket<T> {
  const router = new Router({ strict: true, sensitive: true })
  const values = new Map<Layer, T>()
  for (const { method, path, value } of entries) values.set(router.register(path, [method], () => undefined) as Layer, value)
  return { router, values }
}

/** The literal ones of the first `count` segments: `/api/workers` for `/api/workers/:name`. */
function bucketKey(path: string, count: number): string {
  const literal: string[] = []
  for (const segment of segmentsOf(path).slice(0, count)) {
    if (rankOf(segment) !== 0) break
    literal.push(segment)
  }
  return literal.map((segment) => `/${segment}`).join('')
}

/** Whether a route path can match request paths in bucket `key`: its literal prefix must be a prefix of the key. */
function fitsBucket(path: string, key: string): boolean {
  const prefix = bucketKey(path, 2)
  return prefix === '' || key === prefix || key.startsWith(`${prefix}/`)
}

function decodeParams(layer: Layer, path: string): Record<string, string> {
  const params: Record<string, string> = {}
  for (const [i, text] of layer.captures(path).entries()) {
    const key = layer.paramNames[i]
    if (!key || text === undefined) continue
    try {
      params[key.name] = decodeURIComponent(text)
    } catch {
      throw httpErrors.BAD_REQUEST_TARGET('has a malformed percent-encoding')
    }
  }
  return params
}

const segmentsOf = (path: string): readonly string[] => (path === '' ? [] : path.slice(1).split('/'))

/** Ranks a segment: literal, literal with a parameter in it, parameter, wildcard. */
function rankOf(segment: string): number {
  if (segment.startsWith('*')) return 3
  if (/^:\w+$/.test(segment)) return 2
  return segment.includes(':') ? 1 : 0
}

function compareSpecificity(a: string, b: string): number {
  const left = segmentsOf(a)
  const right = segmentsOf(b)
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = rankOf(left[i] ?? '') - rankOf(right[i] ?? '')
    if (difference !== 0) return difference
  }
  return a < b ? -1 : 1
}

/** Whether a path has neither parameters nor a wildcard. */
export const isStatic = (path: string): boolean => !/[:*]/.test(path)

/** The path without parameter names. Two routes with the same shape and method conflict. */
export const shapeOf = (path: string): string => path.replaceAll(/([:*])\w+/g, '$1')

const segmentGrammar = /^(?:[\w.~@-]*|[\w.~@-]*:[A-Za-z_]\w*(?:[.~@-][\w.~@-]*)?|\*[A-Za-z_]\w*)$/

/** Returns the problem of a route path, or `undefined`. */
export function pathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must begin with "/"'
  if (path === '/') return undefined
  const segments = segmentsOf(path)
  if (segments.at(-1) === '') return 'must not end with "/"'
  const bad = segments.find((segment) => segment === '' || segment === '.' || segment === '..' || !segmentGrammar.test(segment))
  if (bad !== undefined) return `has the segment "${bad}"; a segment is literal text, ":name", or "*name" at the end`
  if (segments.slice(0, -1).some((segment) => segment.startsWith('*'))) return 'has a wildcard that is not its last segment'
  const names = segments.flatMap((segment) => segment.match(/[:*](\w+)/)?.[1] ?? [])
  const repeated = names.find((name, i) => names.indexOf(name) !== i)
  return repeated === undefined ? undefined : `names the parameter "${repeated}" twice`
}
