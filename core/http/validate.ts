import type { FuncKeywordDefinition, Options, ValidateFunction } from 'ajv'
import { Ajv } from 'ajv'
import ajvFormats from 'ajv-formats'
import { type SchemaFault, schemaFaults } from '../util/schema-faults.js'
import { isStandardSchema, jsonSchemaOf, type StandardFault, type StandardSchema, validateStandard } from '../util/standard-schema.js'
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

/** A value after its check. */
export interface CheckedValue {
  readonly value: unknown
  /** Empty if it matches its schema, or there is none. */
  readonly problems: readonly SchemaFault[]
}

/**
 * All validators of an app. Mode `text`, for params, query and forms, converts scalars, and a single value to a list; `json` converts nothing;
 * `response` does not fill in defaults either. A schema is compiled when it is first used.
 */
export class Schemas {
  readonly #engines = new Map<string, Ajv>()
  readonly #exact = new WeakMap<object, JsonSchema>()

  /**
   * Returns a function that throws 400 if a request does not match the schemas of the route; `undefined` if the route has no schema. It
   * returns a promise only for schemas of other libraries that answer later.
   */
  validator(route: Route): ((parts: RequestParts) => Promise<void> | void) | undefined {
    const checks = (['params', 'query', 'body'] as const).flatMap((part) => {
      const schema = route[part]
      return schema === undefined
        ? []
        : [{ part, schema, mode: part === 'body' && route.bodyType !== 'form' ? ('json' as const) : ('text' as const) }]
    })
    if (checks.length === 0) return undefined
    const finders = checks.flatMap(({ part, schema, mode }) =>
      isStandardSchema(schema) ? [] : [{ part, find: this.#finder(mode, schema) }],
    )
    const others = checks.flatMap(({ part, schema, mode }) =>
      isStandardSchema(schema) ? [{ part, check: this.#standard(mode, schema) }] : [],
    )
    const emptyBody = jsonSchemaOf(route.body, 'input')?.type === 'object'
    const refuse = ([first, ...more]: readonly InvalidInput[]): void => {
      if (first === undefined) return
      throw route.onInvalid?.([first, ...more]) ?? httpErrors.VALIDATION_FAILED([first, ...more.slice(0, maxProblems - 1)])
    }
    return (parts) => {
      if (emptyBody && parts.body === undefined) parts.body = {}
      let problems: readonly InvalidInput[] = none
      for (const { part, find } of finders) {
        const faults = find(parts[part])
        if (faults !== undefined) problems = [...problems, ...faults.map((fault) => problemOf(part, fault))]
      }
      if (others.length > 0) return this.#withStandard(parts, others, problems, refuse)
      if (problems.length > 0) refuse(problems)
    }
  }

  /** Checks the parts with schemas of other libraries, which may answer later. */
  #withStandard(
    parts: RequestParts,
    others: readonly { readonly part: InvalidInput['part']; readonly check: StandardCheck }[],
    problems: readonly InvalidInput[],
    refuse: (problems: readonly InvalidInput[]) => void,
  ): Promise<void> | void {
    const results = others.map(({ part, check }) =>
      check(parts[part], (value) => {
        parts[part] = value
      }),
    )
    const finish = (found: readonly (readonly SchemaFault[])[]): void =>
      refuse([
        ...problems,
        ...found.flatMap((faults, index) =>
          faults.map((fault) => problemOf((others[index] as { part: InvalidInput['part'] }).part, fault)),
        ),
      ])
    return results.some((result) => result instanceof Promise)
      ? Promise.all(results.map(async (result) => result)).then(finish)
      : finish(results as readonly (readonly SchemaFault[])[])
  }

  /** Text is converted first, if the library can say which types the schema accepts. */
  #standard(mode: 'text' | 'json', schema: StandardSchema): StandardCheck {
    let convert: ((value: unknown) => unknown) | undefined
    const prepare = (): ((value: unknown) => unknown) => {
      const types = mode === 'text' ? jsonSchemaOf(schema, 'input') : undefined
      if (types === undefined) return () => undefined
      this.#exact.set(schema, types)
      try {
        return this.#engine('text', false).compile(types)
      } catch {
        return () => undefined
      }
    }
    return (value, set) => {
      convert ??= prepare()
      convert(value)
      const inexact = inexactNumber(value, '')
      if (inexact !== undefined) return [inexact]
      const take = ({
        faults,
        value: made,
      }: {
        readonly value: unknown
        readonly faults: readonly StandardFault[]
      }): readonly SchemaFault[] => {
        if (faults.length === 0) set(made)
        return faults.slice(0, maxProblems).map((fault) => ({ ...fault, keyword: 'schema' }))
      }
      const result = validateStandard(schema, value)
      return result instanceof Promise ? result.then(take) : take(result)
    }
  }

  /**
   * Returns a function that checks a value of JSON, and returns what its schema makes of it, with its problems. It returns a promise only for
   * schemas of other libraries that answer later. Without a schema there are no problems.
   */
  reader(schema: JsonSchema | undefined): (value: unknown) => CheckedValue | Promise<CheckedValue> {
    if (isStandardSchema(schema)) {
      const check = this.#standard('json', schema)
      return (value) => {
        let made = value
        const problems = check(value, (given) => {
          made = given
        })
        return problems instanceof Promise ? problems.then((found) => ({ value: made, problems: found })) : { value: made, problems }
      }
    }
    const find = schema === undefined ? undefined : this.#finder('json', schema)
    return (value) => {
      const problems = find?.(value) ?? []
      return { value, problems }
    }
  }

  /** Returns a function that lists the problems of a response, for warnings. It checks the response as serialized. */
  responseCheck(schema: JsonSchema): (value: unknown) => readonly string[] | Promise<readonly string[]> {
    if (isStandardSchema(schema)) {
      const told = ({ faults }: { readonly faults: readonly StandardFault[] }): readonly string[] =>
        faults.map(({ path, message }) => `${path || 'the response'}: ${message}`)
      return (value) => {
        // As the handler returned it: a schema may accept what is not JSON, such as a date.
        const result = validateStandard(schema, value)
        return result instanceof Promise ? result.then(told) : told(result)
      }
    }
    const find = this.#finder('response', schema)
    return (value) => {
      const faults = find(JSON.parse(jsonText(value))) ?? []
      return faults.map(({ path, message }) => `${path || 'the response'} ${message}`)
    }
  }

  /** Removes the compiled validators of a route. */
  forget(route: Route): void {
    const schemas = [route.params, route.query, route.body, route.upgrade?.message, ...Object.values(route.response ?? {})]
    for (const schema of schemas) {
      const compiled = schema === undefined ? undefined : (this.#exact.get(schema) ?? (isStandardSchema(schema) ? undefined : schema))
      if (compiled !== undefined) for (const ajv of this.#engines.values()) ajv.removeSchema(compiled)
    }
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

/** Returns the faults of a value; `set` takes what the schema makes of it. */
type StandardCheck = (value: unknown, set: (made: unknown) => void) => readonly SchemaFault[] | Promise<readonly SchemaFault[]>

/** The first number in a value that stands for another one, see `exactNumber`. The depth of JSON is bounded when it is parsed. */
function inexactNumber(value: unknown, path: string): SchemaFault | undefined {
  if (typeof value === 'number') return isExact(value) ? undefined : { path, keyword: 'exactNumber', message: inexact }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined
  for (const [key, member] of Object.entries(value)) {
    const inside = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    const found = inexactNumber(member, inside)
    if (found !== undefined) return found
  }
  return undefined
}

const isExact = (number: number): boolean => Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))
const inexact = 'must be finite, and at most 9007199254740991 (2^53 - 1) if it is an integer'

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
  validate: (_schema: unknown, data: number) => isExact(data),
  error: { message: inexact },
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
