import { createRequire } from 'node:module'
import type FastJsonStringify from 'fast-json-stringify'
import { messageOf } from '../errors.js'
import { jsonSchemaOf } from '../util/standard-schema.js'
import type { Route } from './route.js'
import type { JsonSchema, ResponseSchemas } from './route-types.js'

/** Writes a body as JSON by the schema of its status; undefined if that has none. */
export type Serializer = (status: number, body: unknown) => string | undefined

/** Compiles the serializers of a route, or returns why that is impossible; undefined if the route does not ask for them. */
export function serializerOf({ serialize, response }: Route): Serializer | { readonly problem: string } | undefined {
  if (serialize !== 'schema') return undefined
  const schemas = Object.entries((response ?? {}) as ResponseSchemas).filter(([status]) => Number(status) < 400)
  if (schemas.length === 0) return { problem: 'serialize: "schema" needs a schema in response, such as response: { 200: {…} }' }
  // Loaded by those apps only that use it.
  const compile = createRequire(import.meta.url)('fast-json-stringify') as typeof FastJsonStringify
  try {
    const writers = new Map(schemas.map(([status, schema]) => [Number(status), compile(writable(schema))]))
    return (status, body) => writers.get(status)?.(body)
  } catch (error) {
    return { problem: `no serializer can be compiled from its response: ${messageOf(error)}` }
  }
}

function writable(schema: JsonSchema): FastJsonStringify.Schema {
  const known = jsonSchemaOf(schema, 'output')
  if (known === undefined) throw new Error('its schema has no JSON schema; use a TypeBox type or a JSON schema')
  return known as unknown as FastJsonStringify.Schema
}
