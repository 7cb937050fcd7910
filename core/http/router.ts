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

/** One route of a bucket. */
interface Candidate<T> {
  readonly method: HttpMethod
  readonly value: T
  /** @koa/router's view of the path, which decides what it means. */
  readonly layer: Layer
  /** The text of each segment, undefined for a parameter; absent if a segment is partly a parameter, or a wildcard. */
  readonly segments: readonly (string | undefined)[] | undefined
}

/**
 * Finds the route for a method and a raw path, strictly and case-sensitively. Static paths are looked up in a map; paths
 * with parameters are tried most specific first, in buckets by their first two segments, so that few are tried. What a path means is decided
 * by @koa/router; where each segment is either text or a parameter, segments are compared, which gives the same without a regular expression.
 */
export class RouteTable<T> {
  readonly #fixed = new Map<string, Map<HttpMethod, T>>()
  readonly #buckets = new Map<string, readonly Candidate<T>[]>()

  constructor(entries: readonly RouterEntry<T>[]) {
    for (const { method, path, value } of entries) {
      if (isStatic(path)) this.#fixed.set(path, (this.#fixed.get(path) ?? new Map<HttpMethod, T>()).set(method, value))
    }
    const open = entries.filter((entry) => !isStatic(entry.path)).sort((a, b) => compareSpecificity(a.path, b.path))
    const candidates = candidatesOf(open)
    const keys = new Set(['', ...open.flatMap(({ path }) => [bucketKey(path, 1), bucketKey(path, 2)])])
    for (const key of keys)
      this.#buckets.set(
        key,
        candidates.filter(({ layer }) => fitsBucket(String(layer.path), key)),
      )
  }

  /** A HEAD request finds the GET route. */
  find(method: string, path: string): Match<T> | undefined {
    const wanted = (method === 'HEAD' ? 'GET' : method) as HttpMethod
    const fixed = this.#fixed.get(path)?.get(wanted)
    if (fixed !== undefined) return { value: fixed, params: {} }
    const segments = path.split('/')
    for (const candidate of this.#bucketFor(path)) {
      if (candidate.method === wanted && fits(candidate, path, segments))
        return { value: candidate.value, params: paramsOf(candidate, path, segments) }
    }
    return undefined
  }

  /** Methods that a path supports, for `Allow`; empty if it matches no route. */
  allowed(path: string): readonly string[] {
    const segments = path.split('/')
    const open = this.#bucketFor(path).filter((candidate) => fits(candidate, path, segments))
    const fixed = this.#fixed.get(path)
    if (open.length === 0 && fixed === undefined) return []
    const methods = new Set<string>([...(fixed?.keys() ?? []), ...open.map(({ method }) => method), 'OPTIONS'])
    if (methods.has('GET')) methods.add('HEAD')
    return [...methods].sort()
  }

  #bucketFor(path: string): readonly Candidate<T>[] {
    const first = path.indexOf('/', 1)
    if (first !== -1) {
      const second = path.indexOf('/', first + 1)
      const found = this.#buckets.get(second === -1 ? path : path.slice(0, second)) ?? this.#buckets.get(path.slice(0, first))
      if (found) return found
    }
    return (this.#buckets.get(path) ?? this.#buckets.get('')) as readonly Candidate<T>[]
  }
}

function candidatesOf<T>(entries: readonly RouterEntry<T>[]): readonly Candidate<T>[] {
  const router = new Router({ strict: true, sensitive: true })
  return entries.map(({ method, path, value }) => {
    const layer = router.register(path, [method], () => undefined) as Layer
    const segments = path.split('/')
    const isPlain = segments.every((segment) => rankOf(segment) === 0 || rankOf(segment) === 2)
    return {
      method,
      value,
      layer,
      segments: isPlain ? segments.map((segment) => (rankOf(segment) === 0 ? segment : undefined)) : undefined,
    }
  })
}

function fits<T>({ layer, segments: wanted }: Candidate<T>, path: string, segments: readonly string[]): boolean {
  if (wanted === undefined) return layer.match(path)
  if (wanted.length !== segments.length) return false
  for (let i = 1; i < wanted.length; i++) {
    const text = wanted[i]
    if (text === undefined ? segments[i] === '' : segments[i] !== text) return false
  }
  return true
}

function paramsOf<T>({ layer, segments: wanted }: Candidate<T>, path: string, segments: readonly string[]): Record<string, string> {
  if (wanted === undefined) return decoded(layer, layer.captures(path))
  return decoded(
    layer,
    segments.filter((_, i) => wanted[i] === undefined),
  )
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

function decoded({ paramNames }: Layer, captures: readonly (string | undefined)[]): Record<string, string> {
  const params: Record<string, string> = {}
  for (let i = 0; i < captures.length; i++) {
    const text = captures[i]
    const key = paramNames[i]
    if (!key || text === undefined) continue
    try {
      params[key.name] = text.includes('%') ? decodeURIComponent(text) : text
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
