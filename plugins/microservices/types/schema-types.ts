import { isObject, type Json, listOf, objectOf, ownValue, refName, wordOf } from './json.js'
import { comment, key, literal } from './text.js'

/** Direction of a value. In a request, properties with a default are optional. */
export type Direction = 'request' | 'response'

interface Place {
  readonly direction: Direction
  /** Indentation level of the output. */
  readonly level: number
  readonly depth: number
  /** The named schema being written; unset inside properties and items, where it may refer to itself. */
  readonly direct?: string
}

interface Written {
  readonly text: string
  /** Needs parentheses before `[]` and beside `&`. */
  readonly compound?: boolean
  /** Members, if it is a union. */
  readonly members?: readonly string[]
  /** It is `unknown`. */
  readonly open?: boolean
}

const mostDepth = 32
const mostSchemas = 20_000
const mostSteps = 1000
const mostInline = 90
/** Keywords that have no equivalent in TypeScript. A schema with nothing else is `unknown`. */
const silent = ['not', 'if', '$dynamicRef', '$recursiveRef', 'dependentSchemas', 'contains', 'propertyNames', 'unevaluatedProperties']
const plain: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

/**
 * Converts the JSON schemas of an OpenAPI document (3.0 and 3.1) to TypeScript types. A type is never narrower than its schema: constraints
 * that TypeScript cannot express are dropped, and unsupported schemas become `unknown` with a comment.
 */
export class SchemaTypes {
  readonly #named: Json
  readonly #owner: string
  readonly #used = new Set<string>()
  #count = 0

  /** @param named named schemas of the document. @param owner name of the interface that contains their types. */
  constructor(named: Json, owner: string) {
    this.#named = named
    this.#owner = owner
  }

  /** Returns the type of one schema. */
  type(schema: unknown, direction: Direction, level: number): string {
    return this.#type(schema, { direction, level, depth: 0 }).text
  }

  /** Returns the interface with the named schemas that were referenced; undefined if none was. */
  declaration(): string | undefined {
    const written = new Map<string, string>()
    for (let open = this.#open(written); open.length > 0; open = this.#open(written))
      for (const name of open) {
        const { text } = this.#type(this.#named[name], { direction: 'response', level: 1, depth: 0, direct: name })
        written.set(name, `  readonly ${key(name)}: ${text}\n`)
      }
    if (written.size === 0) return undefined
    return `export interface ${this.#owner} {\n${[...written.keys()]
      .sort()
      .map((name) => written.get(name))
      .join('')}}\n`
  }

  #open(written: ReadonlyMap<string, string>): readonly string[] {
    return [...this.#used].filter((name) => !written.has(name)).sort()
  }

  #type(schema: unknown, place: Place): Written {
    if (schema === true || schema === undefined) return anything
    if (schema === false) return { text: 'never' }
    if (!isObject(schema)) return unknown('a malformed schema')
    if (place.depth > mostDepth || ++this.#count > mostSchemas) return unknown('a schema that is nested too deeply, or too many schemas')
    const inner = { ...place, depth: place.depth + 1 }
    const parts = [
      ...(schema.$ref === undefined ? [] : [this.#ref(schema.$ref, place)]),
      ...this.#own(schema, inner),
      ...listOf(schema.allOf).map((part) => this.#type(part, inner)),
      ...[schema.anyOf, schema.oneOf].flatMap((parts) =>
        listOf(parts).length === 0 ? [] : [union(listOf(parts).map((part) => this.#type(part, inner)))],
      ),
    ]
    const left = parts.length === 0 ? silent.find((keyword) => schema[keyword] !== undefined) : undefined
    const whole = left === undefined ? intersection(parts) : unknown(`the keyword ${left}`)
    return schema.nullable === true ? union([whole, { text: 'null' }]) : whole
  }

  #ref(ref: unknown, { direct }: Place): Written {
    const name = refName(ref, 'schemas')
    if (name === undefined || !Object.hasOwn(this.#named, name)) return unknown(`the reference ${wordOf(ref)}`)
    if (direct !== undefined && this.#reaches(name, direct)) return unknown('a schema that contains itself directly')
    this.#used.add(name)
    return { text: `${this.#owner}[${literal(name)}]` }
  }

  /** Returns whether a named schema depends on another one outside of properties and items. Gives up after many steps and returns true. */
  #reaches(from: string, to: string): boolean {
    const seen = new Set([from])
    for (const name of seen) {
      if (name === to || seen.size > mostSteps) return true
      for (const next of directRefs(ownValue(this.#named, name))) seen.add(next)
    }
    return false
  }

  /** Returns the schema's own types, without references and combinations. */
  #own(schema: Json, place: Place): readonly Written[] {
    if (schema.const !== undefined) return [literalType(schema.const)]
    if (Array.isArray(schema.enum)) return [union(schema.enum.map(literalType))]
    const types = typeof schema.type === 'string' ? [schema.type] : Array.isArray(schema.type) ? schema.type : [impliedType(schema)]
    const written = types.flatMap((type): readonly Written[] => {
      if (type === undefined) return []
      if (type === 'object') return [this.#object(schema, place)]
      if (type === 'array') return [this.#array(schema, place)]
      const text = typeof type === 'string' && Object.hasOwn(plain, type) ? plain[type] : undefined
      return [text === undefined ? unknown(`the type ${wordOf(type)}`) : { text }]
    })
    return written.length === 0 ? [] : [union(written)]
  }

  #object(schema: Json, { direct: _direct, ...place }: Place): Written {
    const properties = objectOf(schema.properties)
    const required = listOf(schema.required).filter((name) => typeof name === 'string')
    const names = [...new Set([...Object.keys(properties), ...required])]
    const inside = { ...place, level: place.level + 1 }
    const lines = names
      .filter((name) => ownValue(ownValue(properties, name), place.direction === 'request' ? 'readOnly' : 'writeOnly') !== true)
      .map((name) => this.#property(name, ownValue(properties, name), required.includes(name), inside))
    const rest = this.#rest(schema, inside)
    if (rest === undefined && lines.length === 0) return { text: 'Readonly<Record<string, never>>' }
    // TypeScript requires that an index signature covers the named properties, so it has to be `unknown`.
    const index = lines.length === 0 ? rest : schema.additionalProperties === undefined || rest === undefined ? undefined : 'unknown'
    return { text: block([...lines, ...(index === undefined ? [] : [`readonly [key: string]: ${index}`])], place.level) }
  }

  #property(name: string, schema: unknown, required: boolean, place: Place): string {
    const { default: preset, description } = objectOf(schema)
    const optional = !required || (place.direction === 'request' && preset !== undefined)
    const doc =
      typeof description === 'string' && comment(description) !== '' ? `/** ${comment(description)} */\n${'  '.repeat(place.level)}` : ''
    return `${doc}readonly ${key(name)}${optional ? '?' : ''}: ${this.#type(schema, place).text}`
  }

  /** Returns the type of additional properties; undefined if none are allowed. */
  #rest({ additionalProperties, patternProperties }: Json, place: Place): string | undefined {
    const patterns = Object.values(objectOf(patternProperties))
    const open = additionalProperties !== false && (additionalProperties !== undefined || patterns.length === 0)
    const schemas = [...patterns, ...(open ? [additionalProperties ?? true] : [])]
    return schemas.length === 0 ? undefined : union(schemas.map((schema) => this.#type(schema, place))).text
  }

  #array({ items, prefixItems }: Json, { direct: _direct, ...place }: Place): Written {
    const first = listOf(prefixItems).map((item) => this.#type(item, place).text)
    const rest = this.#type(items, place)
    const more = `${rest.compound === true ? `(${rest.text})` : rest.text}[]`
    if (prefixItems === undefined) return { text: `readonly ${more}`, compound: true }
    return { text: `readonly [${[...first, ...(items === false ? [] : [`...${more}`])].join(', ')}]`, compound: true }
  }
}

/** Returns the named schemas that a schema references outside of properties and items. */
function directRefs(schema: unknown, depth = 0): readonly string[] {
  if (!isObject(schema) || depth > mostDepth) return []
  const name = refName(schema.$ref, 'schemas')
  const parts = [schema.allOf, schema.anyOf, schema.oneOf].flatMap((list) => listOf(list).flatMap((part) => directRefs(part, depth + 1)))
  return name === undefined ? parts : [name, ...parts]
}

function impliedType({ additionalProperties, items, patternProperties, prefixItems, properties, required }: Json): string | undefined {
  if ([properties, required, additionalProperties, patternProperties].some((given) => given !== undefined)) return 'object'
  return items === undefined && prefixItems === undefined ? undefined : 'array'
}

function literalType(value: unknown): Written {
  if (typeof value === 'string') return { text: literal(value) }
  if (value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return { text: String(value) }
  return unknown('a constant that is an object')
}

const anything: Written = { text: 'unknown', open: true }

function unknown(why: string): Written {
  return { text: `/* not supported: ${comment(why)} */ unknown`, open: true }
}

function union(all: readonly Written[]): Written {
  const open = all.find((one) => one.open)
  if (open !== undefined) return open
  const members = [...new Set(all.flatMap((one) => one.members ?? [one.text]))]
  const kept = members.filter((text) => text !== 'never' && !(text.startsWith("'") && members.includes('string')))
  if (kept.length < 2) return all.find(({ text }) => text === kept[0]) ?? { text: kept[0] ?? 'never' }
  return { text: kept.join(' | '), compound: true, members: kept }
}

function intersection(all: readonly Written[]): Written {
  const kept = all.filter(({ text }, index) => text !== 'unknown' && all.findIndex((other) => other.text === text) === index)
  const [only] = kept
  if (kept.length < 2) return only ?? anything
  return { text: kept.map(({ compound, text }) => (compound === true ? `(${text})` : text)).join(' & '), compound: true }
}

/** Writes members in braces: on one line if they are short enough. */
export function block(members: readonly string[], level: number): string {
  const line = `{ ${members.join('; ')} }`
  if (line.length <= mostInline && !line.includes('\n') && !line.includes('/**')) return line
  const indent = '  '.repeat(level)
  return `{\n${members.map((member) => `${indent}  ${member}\n`).join('')}${indent}}`
}
