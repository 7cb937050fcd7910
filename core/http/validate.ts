import type { FuncKeywordDefinition, Options, ValidateFunction } from 'ajv'
import { Ajv } from 'ajv'
import ajvFormats from 'ajv-formats'
import { type SchemaFault, schemaFaults } from '../util/schema-faults.js'
import { httpErrors } from './errors.js'
import { jsonText } from './json.js'
import type { InvalidInput, JsonSchema, Route } from './route.js'

/** Maximum number of problems listed in one response. */
const maxProblems = 20

type Mode = 'text' | 'json' | 'response'

/** The parts of a request. Validation writes defaults into them and, for params, query and forms, converted values. */
export interface RequestParts {
  params: unknown
  query: unknown
  body: unknown
}

/**
 * All validators of an app. Mode `text`, for params, query and forms, converts scalars, and a single value to a list; `json` converts nothing;
 * `response` does not fill in defaults either. A schema is compiled when it is first used.
 */
export class Schemas {
  readonly #engines = new Map<string, Ajv>()
  readonly #exact = new WeakMap<object, JsonSchema>()

  /** Returns a function that throws 400 if a request does not match the schemas of the route; `undefined` if the route has no schema. */
  validator(route: Route): ((parts: RequestParts) => void) | undefined {
    const checks = (['params', 'query', 'body'] as const).flatMap((part) => {
      const schema = route[part]
      return schema === undefined
        ? []
        : [{ part, find: this.#finder(part === 'body' && route.bodyType !== 'form' ? 'json' : 'text', schema) }]
    })
    if (checks.length === 0) return undefined
    const emptyBody = (route.body as { type?: unknown } | undefined)?.type === 'object'
    return (parts) => {
      if (emptyBody && parts.body === undefined) parts.body = {}
      let problems: readonly InvalidInput[] = none
      for (const { part, find } of checks) {
        const faults = find(parts[part])
        if (faults !== undefined) problems = [...problems, ...faults.map((fault) => problemOf(part, fault))]
      }
      const [first, ...more] = problems
      if (first === undefined) return
      throw route.onInvalid?.([first, ...more]) ?? httpErrors.VALIDATION_FAILED([first, ...more.slice(0, maxProblems - 1)])
    }
  }

  /** Returns a function that lists the problems of a value as JSON, and fills in defaults; without a schema it lists none. */
  problems(schema: JsonSchema | undefined): (value: unknown) => readonly SchemaFault[] {
    const find = schema === undefined ? undefined : this.#finder('json', schema)
    return (value) => find?.(value) ?? []
  }

  /** Returns a function that lists the problems of a response, for warnings. It checks the response as serialized. */
  responseCheck(schema: JsonSchema): (value: unknown) => readonly string[] {
    const find = this.#finder('response', schema)
    return (value) => {
      const faults = find(JSON.parse(jsonText(value))) ?? []
      return faults.map(({ path, message }) => `${path || 'the response'} ${message}`)
    }
  }

  /** Removes the compiled validators of a route. */
  forget(route: Route): void {
    const schemas = [route.params, route.query, route.body, route.upgrade?.message, ...Object.values(route.response ?? {})]
    for (const ajv of this.#engines.values()) for (const schema of schemas) if (schema) ajv.removeSchema(this.#exact.get(schema) ?? schema)
  }

  /**
   * Every listed problem takes memory, so a value is first checked by a validator that stops at the first problem. For large values, which
   * may have very many problems, only that one is reported.
   */
  #finder(mode: Mode, given: JsonSchema): (value: unknown) => readonly SchemaFault[] | undefined {
    const schema = mode === 'response' ? given : this.#exactly(given)
    let first: ValidateFunction | undefined
    return (value) => {
      first ??= this.#engine(mode, false).compile(schema)
      if (first(value)) return undefined
      const errors = first.errors ?? []
      if (countsMoreThan(value, 1000)) return schemaFaults(errors)
      const all = this.#engine(mode, true).compile(schema)
      all(value)
      return schemaFaults(all.errors ?? errors).slice(0, maxProblems)
    }
  }

  #exactly(schema: JsonSchema): JsonSchema {
    const exact = this.#exact.get(schema) ?? (withExactNumbers(schema) as JsonSchema)
    this.#exact.set(schema, exact)
    return exact
  }

  #engine(mode: Mode, allErrors: boolean): Ajv {
    const key = `${mode} ${allErrors}`
    let ajv = this.#engines.get(key)
    if (!ajv) {
      ajv = new Ajv({ ...options, coerceTypes: mode === 'text' && 'array', useDefaults: mode !== 'response', allErrors })
      ajvFormats.default(ajv)
      ajv.addKeyword(exactNumber)
      this.#engines.set(key, ajv)
    }
    return ajv
  }
}

const none: readonly InvalidInput[] = []

const problemOf = (part: InvalidInput['part'], { path, keyword, message }: SchemaFault): InvalidInput => ({
  part,
  field: path,
  keyword,
  message,
})

const options: Options = {
  strict: false,
  removeAdditional: false,
  addUsedSchema: false,
  logger: false,
  validateSchema: false,
  verbose: true,
}

/** Refuses numbers that stand for another one: those that became infinite, and integers beyond 2^53 - 1, which address another record. */
const exactNumber: FuncKeywordDefinition = {
  keyword: 'exactNumber',
  type: 'number',
  validate: (_schema: unknown, data: number) => Number.isFinite(data) && (!Number.isInteger(data) || Number.isSafeInteger(data)),
  error: { message: 'must be finite, and at most 9007199254740991 (2^53 - 1) if it is an integer' },
}

/** Keywords whose values are data, and those whose values are schemas by name. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required'])
const mapKeywords: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

/** Adds `exactNumber` wherever a schema accepts numbers. */
function withExactNumbers(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withExactNumbers)
  if (typeof schema !== 'object' || schema === null) return schema
  const exact = Object.entries(schema).map(([keyword, value]) => [keyword, exactPart(keyword, value)])
  const types = [(schema as { readonly type?: unknown }).type].flat()
  return Object.fromEntries(types.includes('integer') || types.includes('number') ? [...exact, ['exactNumber', true]] : exact)
}

function exactPart(keyword: string, value: unknown): unknown {
  if (dataKeywords.has(keyword)) return value
  if (!mapKeywords.has(keyword) || typeof value !== 'object' || value === null) return withExactNumbers(value)
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, withExactNumbers(schema)]))
}

/** Whether a value has more than `limit` members, at any depth. */
function countsMoreThan(value: unknown, limit: number): boolean {
  let left = limit
  const stack = [value]
  while (stack.length > 0) {
    const next = stack.pop()
    if (typeof next !== 'object' || next === null) continue
    const members = Object.values(next)
    left -= members.length
    if (left < 0) return true
    for (const member of members) stack.push(member)
  }
  return false
}
