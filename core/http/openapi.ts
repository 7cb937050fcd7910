import { STATUS_CODES } from 'node:http'
import { isStandardSchema, jsonSchemaOf } from '../util/standard-schema.js'
import { keyOfEntry, type SecurityRequirement, type SecurityScheme } from './middleware.js'
import type { BodyType, JsonSchema, Registration, Route } from './route.js'
import type { ResponseSchemas } from './route-types.js'
import type { RouteUpgrade } from './upgrade.js'
import { type FileFields, formSchema } from './upload.js'

type Json = Readonly<Record<string, unknown>>

/** An error that a response can carry. */
export interface ErrorInfo {
  readonly plugin: string
  readonly code: string
  readonly status: number
  /** When it happens and how to fix it. */
  readonly description: string
}

/** A route and the credentials it requires: any one entry is sufficient; empty for a public route, `undefined` if undeclared. */
export interface SecuredRoute extends Registration {
  readonly security: readonly SecurityRequirement[] | undefined
}

/** Generates the OpenAPI 3.1 document of a route table, without hidden routes. */
export function openapiDocument(
  info: { readonly title: string; readonly version: string },
  routes: readonly SecuredRoute[],
  errors: readonly ErrorInfo[] = [],
): Json {
  const shown = routes.filter(({ route }) => !route.hidden)
  const paths: Record<string, Record<string, Json>> = {}
  const sorted = [...shown].sort((a, b) => (a.route.path < b.route.path ? -1 : 1))
  const ids = operationIds(sorted.map(({ route }) => route))
  for (const [index, { plugin, route, security }] of sorted.entries()) {
    const path = route.path.replaceAll(/[:*](\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = {
      operationId: ids[index],
      ...operation(plugin, inJsonSchema({ ...route, ...route.documented }), security),
    }
  }
  const tags = [...new Set(shown.map(({ plugin, route }) => route.tag ?? plugin))].sort()
  const securitySchemes = schemesOf(shown)
  const components = { schemas: { Error: errorSchema, ErrorCode: codeSchema(errors) }, ...(securitySchemes && { securitySchemes }) }
  return { openapi: '3.1.0', info, servers: [{ url: '/' }], tags: tags.map((name) => ({ name })), paths, components }
}

/** The route with JSON schemas in place of those of other libraries; one that its library cannot describe accepts anything in the document. */
function inJsonSchema(route: Route): Route {
  const parts = (['params', 'query', 'body'] as const).flatMap((part) =>
    isStandardSchema(route[part]) ? [[part, jsonSchemaOf(route[part], 'input') ?? {}] as const] : [],
  )
  const response = Object.entries((route.response ?? {}) as ResponseSchemas).map(
    ([status, schema]) => [status, isStandardSchema(schema) ? (jsonSchemaOf(schema, 'output') ?? {}) : schema] as const,
  )
  return { ...route, ...Object.fromEntries(parts), ...(route.response && { response: Object.fromEntries(response) }) }
}

function schemesOf(routes: readonly SecuredRoute[]): Readonly<Record<string, SecurityScheme>> | undefined {
  const schemes: SecurityRequirement = Object.assign({}, ...routes.flatMap(({ security = [] }) => security))
  const names = Object.keys(schemes).sort()
  return names.length > 0 ? Object.fromEntries(names.map((name) => [name, schemes[name] as SecurityScheme])) : undefined
}

const errorSchema = {
  type: 'object',
  required: ['error', 'message', 'code'],
  properties: {
    error: { type: 'string', description: 'Short text' },
    message: { type: 'string' },
    code: { $ref: '#/components/schemas/ErrorCode' },
    details: { description: 'Machine-readable details, if any' },
  },
}

/** The error codes of the core and of all plugins; an app may throw others. */
function codeSchema(errors: readonly ErrorInfo[]): Json {
  const codes = [...new Set(errors.map(({ code }) => code))].sort()
  const known = codes.map((code) => {
    const same = errors.filter((error) => error.code === code)
    const description = [...new Set(same.map((error) => error.description))].join(' ')
    return { const: code, 'x-status': same[0]?.status, description, 'x-plugins': same.map(({ plugin }) => plugin) }
  })
  return { description: 'Stable error code', anyOf: [...known, { type: 'string' }] }
}

/** `GET /api/workers/:name` → `getApiWorkersName`. */
function operationId({ method, path }: { readonly method: string; readonly path: string }): string {
  return method.toLowerCase() + path.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => (next ?? '').toUpperCase())
}

/** Ids in the order of the document. Different paths can have the same id, such as `/a-b` and `/a/b`: later ones get a number. */
function operationIds(routes: readonly Pick<Route, 'method' | 'path'>[]): readonly string[] {
  const uses = new Map<string, number>()
  return routes.map((route) => {
    const id = operationId(route)
    const use = (uses.get(id) ?? 0) + 1
    uses.set(id, use)
    return use === 1 ? id : `${id}_${use}`
  })
}

function operation(plugin: string, route: Route, security: readonly SecurityRequirement[] | undefined): Json {
  const parameters = [...pathParameters(route), ...parametersOf('query', route.query)]
  const requestBody = bodyOf(route)
  return {
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    tags: [route.tag ?? plugin],
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responsesOf(route),
    ...(route.upgrade && { [`x-${route.upgrade.protocol}`]: upgradeOf(route.upgrade) }),
    ...(security && { security: security.map((schemes) => Object.fromEntries(Object.keys(schemes).map((name) => [name, []]))) }),
    'x-plugin': plugin,
    ...(route.use?.length && { 'x-middleware': route.use.map(keyOfEntry) }),
  }
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, Json>>
  readonly required?: readonly string[]
}

function pathParameters(route: Route): readonly Json[] {
  const known = (route.params as ObjectSchema | undefined)?.properties ?? {}
  const names = [...(route.path as string).matchAll(/[:*](\w+)/g)].map((found) => found[1] as string)
  return names.map((name) => parameter('path', name, true, known[name] ?? { type: 'string' }))
}

function parametersOf(place: string, schema: JsonSchema | undefined): readonly Json[] {
  const { properties = {} } = (schema ?? {}) as ObjectSchema
  const needed = neededOf(schema)
  return Object.entries(properties).map(([name, property]) => parameter(place, name, needed.includes(name), property))
}

/** Required properties that a request must contain; those with a default are filled in. */
function neededOf(schema: JsonSchema | undefined): readonly string[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema
  return required.filter((name) => properties[name]?.default === undefined)
}

function parameter(place: string, name: string, required: boolean, schema: Json): Json {
  const { description } = schema
  return { name, in: place, required, ...(typeof description === 'string' && { description }), schema }
}

const mediaTypes = {
  json: ['application/json'],
  form: ['application/x-www-form-urlencoded', 'multipart/form-data'],
  raw: ['application/octet-stream'],
} as const

function bodyOf(route: Route): Json | undefined {
  const type: BodyType = route.bodyType ?? 'json'
  if (type === 'none' || (route.body === undefined && route.bodyType === undefined)) return undefined
  const schema = route.files ? formSchema(route.body, route.files) : (route.body ?? {})
  const required = type !== 'json' || neededOf(schema).length > 0
  const needsFile = Object.values((route.files ?? {}) as FileFields).some(({ optional }) => optional !== true)
  const media = needsFile ? ['multipart/form-data'] : mediaTypes[type]
  return { required, content: Object.fromEntries(media.map((name) => [name, { schema }])) }
}

/** What OpenAPI has no words for: the messages after the change of protocol. */
function upgradeOf({ message, sends, documented = {} }: RouteUpgrade): Json {
  const described = {
    ...(message && { message: jsonSchemaOf(message, 'input') ?? {} }),
    ...(sends && { sends: jsonSchemaOf(sends, 'output') ?? {} }),
  }
  return { ...described, ...documented }
}

function responsesOf(route: Route): Json {
  const responses: Record<string, Json> = route.upgrade ? { 101: { description: `Switching Protocols (${route.upgrade.protocol})` } } : {}
  for (const [status, schema] of Object.entries(route.response ?? {})) {
    responses[status] = { description: STATUS_CODES[status] ?? 'Response', content: { 'application/json': { schema } } }
  }
  if (Object.keys(responses).length === 0) responses['200'] = { description: 'OK' }
  const schema = { $ref: '#/components/schemas/Error' }
  return { ...responses, default: { description: 'Error', content: { 'application/json': { schema } } } }
}
