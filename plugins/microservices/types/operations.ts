import { targetProblem } from '../calls/target.js'
import type { CallMethod } from '../contract.js'
import { isObject, type Json, listOf, objectOf, ownValue, refName, wordOf } from './json.js'

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string
  readonly required: boolean
  readonly schema: unknown
  readonly description: string | undefined
  /** Serialization of the parameter, if it is not the default one: the caller has to serialize the value. */
  readonly raw?: string
}

/** Content of a request or a response. */
export type Content = { readonly kind: 'json'; readonly schema: unknown } | { readonly kind: 'text' | 'bytes' | 'any' | 'none' }

export interface OperationResponse {
  /** `200`, `4XX` or `default`. */
  readonly status: string
  readonly content: Content
}

/** One operation of a document. */
export interface Operation {
  /** Method name in the client: unique, and never a name of `Object.prototype`. */
  readonly name: string
  readonly method: CallMethod
  /** Path with its parameters in braces. */
  readonly path: string
  readonly summary: string
  readonly params: readonly Parameter[]
  readonly query: readonly Parameter[]
  readonly headers: readonly Parameter[]
  readonly body?: { readonly mediaType: string; readonly required: boolean; readonly content: Content }
  readonly responses: readonly OperationResponse[]
}

export interface Operations {
  readonly operations: readonly Operation[]
  /** Operations that cannot be called, one line for each. */
  readonly leftOut: readonly string[]
}

const methods: readonly CallMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const mediaType = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}$/
const reserved: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'then'])

/** Returns the operations of an OpenAPI document, ordered by path and method. */
export function operationsOf(document: Json): Operations {
  const leftOut: string[] = []
  const operations: Operation[] = []
  const names = new Set<string>()
  const base = basePath(document)
  for (const [template, item] of sorted(objectOf(document.paths))) {
    const entry = resolved(document, item, 'pathItems')
    const path = base + template
    for (const method of methods) {
      const given = ownValue(entry, method.toLowerCase())
      if (!isObject(given)) continue
      const isSocket = ownValue(given.responses, '101') !== undefined
      const problem = isSocket ? 'it is a WebSocket' : targetProblem(path.replaceAll(/\{[^{}]*\}/g, 'x'))
      if (problem !== undefined) leftOut.push(`${method} ${path}: ${problem}`)
      else operations.push(operationOf(document, given, { method, path, shared: listOf(entry.parameters), names }))
    }
  }
  return { operations, leftOut }
}

interface Where {
  readonly method: CallMethod
  readonly path: string
  /** Parameters shared by all operations of the path. */
  readonly shared: readonly unknown[]
  readonly names: Set<string>
}

function operationOf(document: Json, given: Json, { method, names, path, shared }: Where): Operation {
  const parameters = parametersOf(document, [...shared, ...listOf(given.parameters)])
  const known = new Map(parameters.filter((one) => one.place === 'path').map((one) => [one.name, one]))
  const inPath = [...new Set([...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name))]
  const body = bodyOf(document, given.requestBody)
  return {
    name: nameOf(given.operationId, method, path, names),
    method,
    path,
    summary: typeof given.summary === 'string' ? given.summary : '',
    params: inPath.map((name) => ({
      ...(known.get(name) ?? { name, schema: { type: 'string' }, description: undefined }),
      required: true,
    })),
    query: parameters.filter(({ place }) => place === 'query'),
    headers: parameters.filter(({ place }) => place === 'header'),
    ...(body === undefined ? {} : { body }),
    responses: sorted(objectOf(given.responses))
      .filter(([status]) => /^([2-5]\d\d|[2-5]XX|default)$/.test(status))
      .map(([status, response]) => ({ status, content: contentOf(document, status, response) })),
  }
}

/** Returns the operation id if it is a usable identifier, otherwise a name made of method and path, such as `getUsersName`. */
function nameOf(id: unknown, method: CallMethod, path: string, names: Set<string>): string {
  const made = method.toLowerCase() + path.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => (next ?? '').toUpperCase())
  const usable = typeof id === 'string' && /^[A-Za-z_$][\w$]{0,99}$/.test(id) && !reserved.has(id)
  const first = usable ? id : made.replaceAll(/[^\w]/g, '').slice(0, 100)
  let name = first
  for (let count = 2; names.has(name); count++) name = `${first}_${count}`
  names.add(name)
  return name
}

type PlacedParameter = Parameter & { readonly place: unknown }

/** Returns the parameters; the last one with the same place and name wins. Leaves out the headers that the plugin sets itself. */
function parametersOf(document: Json, given: readonly unknown[]): readonly PlacedParameter[] {
  const found = new Map<string, PlacedParameter>()
  for (const one of given) {
    const { description, explode, in: place, name, required, schema, style, content } = resolved(document, one, 'parameters')
    if (typeof name !== 'string' || name === '') continue
    if (place === 'header' && ['accept', 'content-type', 'authorization'].includes(name.toLowerCase())) continue
    const usual = place === 'query' ? 'form' : 'simple'
    const unusual = content !== undefined || (style !== undefined && style !== usual) || (place === 'query' && explode === false)
    found.set(`${wordOf(place)} ${name}`, {
      name,
      place,
      required: required === true,
      schema,
      description: typeof description === 'string' ? description : undefined,
      ...(unusual
        ? { raw: content === undefined ? `style ${wordOf(style ?? usual)}, explode ${wordOf(explode ?? false)}` : 'content' }
        : {}),
    })
  }
  return [...found.values()]
}

function bodyOf(document: Json, given: unknown): Operation['body'] {
  if (given === undefined) return undefined
  const { content, required } = resolved(document, given, 'requestBodies')
  const types = Object.keys(objectOf(content)).filter((type) => mediaType.test(type))
  const type = types.find(isJson) ?? types[0]
  if (type === undefined) return { mediaType: 'application/octet-stream', required: required === true, content: { kind: 'bytes' } }
  const { schema } = objectOf(ownValue(content, type))
  return { mediaType: type, required: required === true, content: isJson(type) ? { kind: 'json', schema } : { kind: 'bytes' } }
}

function contentOf(document: Json, status: string, given: unknown): Content {
  if (status === '204' || status === '205' || status === '304') return { kind: 'none' }
  const types = Object.entries(objectOf(resolved(document, given, 'responses').content))
  const json = types.find(([type]) => isJson(type))
  if (json !== undefined && types.length === 1) return { kind: 'json', schema: objectOf(json[1]).schema }
  if (types.length !== 1) return { kind: 'any' }
  return { kind: /^text\//i.test(types[0]?.[0] ?? '') ? 'text' : types[0]?.[0].includes('*') === true ? 'any' : 'bytes' }
}

function isJson(type: string): boolean {
  return /^application\/([\w.-]+\+)?json\b/i.test(type)
}

/** Resolves a reference into the document, one level deep. */
function resolved(document: Json, value: unknown, section: string): Json {
  const ref = ownValue(value, '$ref')
  const name = refName(ref, section)
  return objectOf(name === undefined ? value : ownValue(ownValue(document.components, section), name))
}

/** Returns the path of the document's first server: the base of all its paths. */
function basePath(document: Json): string {
  const url = ownValue(listOf(document.servers)[0], 'url')
  if (typeof url !== 'string' || !URL.canParse(url, 'http://service')) return ''
  return new URL(url, 'http://service').pathname.replace(/\/+$/, '')
}

function sorted(object: Json): readonly (readonly [string, unknown])[] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
}
