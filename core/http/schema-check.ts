import { formatNames } from 'ajv-formats/dist/formats.js'
import { isStandardSchema } from '../util/standard-schema.js'
import type { Route } from './route.js'

/** The required form of a keyword's value. */
interface Form {
  readonly must: string
  fits(value: unknown): boolean
  /** Schemas nested in the value, with their location. */
  readonly inner?: (value: unknown) => readonly (readonly [place: string, schema: unknown])[]
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)
const isSchema = (value: unknown): boolean => isMap(value) || typeof value === 'boolean'
const isDistinct = (list: readonly unknown[]): boolean => new Set(list.map((entry) => JSON.stringify(entry))).size === list.length
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every(isText) && isDistinct(value)
const isType = (value: unknown): boolean => typeNames.includes(value as string)
const typeNames: readonly string[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']

const anything: Form = { must: '', fits: () => true }
const text: Form = { must: 'must be a string', fits: isText }
const flag: Form = { must: 'must be true or false', fits: (value) => typeof value === 'boolean' }
const number: Form = { must: 'must be a number', fits: (value) => Number.isFinite(value) }
const step: Form = { must: 'must be a number above 0', fits: (value) => Number.isFinite(value) && (value as number) > 0 }
const count: Form = { must: 'must be an integer of at least 0', fits: (value) => Number.isInteger(value) && (value as number) >= 0 }
const list: Form = { must: 'must be a list', fits: Array.isArray }
const names: Form = { must: 'must be a list of unique names', fits: isNames }
const values: Form = {
  must: 'must be a non-empty list of unique values',
  fits: (value) => Array.isArray(value) && value.length > 0 && isDistinct(value),
}
const type: Form = {
  must: `must be one or more of ${typeNames.join(', ')}`,
  fits: (value) => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType) && isDistinct(value)),
}
const pattern: Form = { must: 'must be a regular expression', fits: (value) => isText(value) && isRegExp(value as string) }
const format: Form = { must: `must be one of ${formatNames.join(', ')}`, fits: (value) => (formatNames as unknown[]).includes(value) }

const schema: Form = { must: 'must be a schema', fits: isSchema, inner: (value) => [['', value]] }
const schemas: Form = {
  must: 'must be a non-empty list of schemas',
  fits: (value) => Array.isArray(value) && value.length > 0,
  inner: (value) => (value as unknown[]).map((entry, i) => [`/${i}`, entry]),
}
const schemaOrSchemas: Form = {
  must: 'must be a schema or a list of schemas',
  fits: (value) => isSchema(value) || schemas.fits(value),
  inner: (value) => (Array.isArray(value) ? schemas : schema).inner?.(value) ?? [],
}
const schemaMap: Form = {
  must: 'must be an object of schemas',
  fits: isMap,
  inner: (value) => Object.entries(value as object).map(([name, entry]) => [`/${name}`, entry]),
}
const patternMap: Form = {
  ...schemaMap,
  must: 'must be an object of schemas whose keys are regular expressions',
  fits: (value) => isMap(value) && Object.keys(value).every(isRegExp),
}
const dependencies: Form = {
  must: 'must be an object of schemas or lists of names',
  fits: (value) => isMap(value) && Object.values(value).every((entry) => isSchema(entry) || isNames(entry)),
  inner: (value) => Object.entries(value as object).flatMap(([name, entry]) => (isSchema(entry) ? [[`/${name}`, entry] as const] : [])),
}

/** Every keyword that a schema may have. Some are annotations that validators ignore. */
const keywords: ReadonlyMap<string, Form> = new Map(
  (
    [
      [text, '$id id $schema $ref $comment title description contentMediaType contentEncoding'],
      [text, 'formatMinimum formatMaximum formatExclusiveMinimum formatExclusiveMaximum'],
      [flag, '$async nullable uniqueItems deprecated readOnly writeOnly'],
      [number, 'minimum maximum exclusiveMinimum exclusiveMaximum'],
      [count, 'minLength maxLength minItems maxItems minProperties maxProperties'],
      [step, 'multipleOf'],
      [type, 'type'],
      [format, 'format'],
      [pattern, 'pattern'],
      [values, 'enum'],
      [names, 'required'],
      [list, 'examples'],
      [anything, '$vocabulary const default example discriminator'],
      [schema, 'not if then else contains additionalItems unevaluatedItems'],
      [schema, 'additionalProperties unevaluatedProperties propertyNames contentSchema'],
      [schemas, 'allOf anyOf oneOf prefixItems'],
      [schemaOrSchemas, 'items'],
      [schemaMap, 'properties dependentSchemas $defs definitions'],
      [patternMap, 'patternProperties'],
      [dependencies, 'dependencies'],
    ] as const
  ).flatMap(([form, words]) => words.split(' ').map((word): [string, Form] => [word, form])),
)

/**
 * Returns the problems of the schemas of a route: unknown keywords and formats, invalid keyword values, unresolved references.
 * It takes microseconds, while compiling takes a millisecond: every schema is checked at boot but compiled when first used.
 */
export function schemaProblems({ params, query, body, response = {}, documented = {}, upgrade }: Route): readonly string[] {
  const messages = [['message', upgrade?.message] as const, ['sends', upgrade?.sends] as const]
  const responses = Object.entries(response).map(([status, schema]) => [`response ${status}`, schema] as const)
  const shown = Object.entries(documented).map(([part, schema]) => [`documented ${part}`, schema] as const)
  const all = [['params', params] as const, ['query', query] as const, ['body', body] as const, ...responses, ...shown, ...messages]
  return all.flatMap(([part, schema]) =>
    schema === undefined || isStandardSchema(schema)
      ? []
      : problemsOf(schema).map((problem) => `its ${part} schema is invalid: ${problem}`),
  )
}

function problemsOf(root: unknown): readonly string[] {
  const problems: string[] = []
  const visit = (node: unknown, at: string): void => {
    if (typeof node === 'boolean') return
    if (!isMap(node)) return void problems.push(`${at || 'it'} must be an object`)
    for (const [keyword, value] of Object.entries(node)) {
      if (value === undefined) continue
      const form = keywords.get(keyword)
      if (form === undefined) {
        if (!keyword.startsWith('x-')) problems.push(`${at || 'it'} has the unknown keyword "${keyword}"`)
      } else if (!form.fits(value)) problems.push(`${at}/${keyword} ${form.must}, not ${shown(value)}`)
      else for (const [place, inner] of form.inner?.(value) ?? []) visit(inner, `${at}/${keyword}${place}`)
    }
    const { $ref } = node as { readonly $ref?: unknown }
    if (typeof $ref === 'string' && $ref.startsWith('#/') && !resolves(root, $ref))
      problems.push(`${at || 'it'} refers to ${$ref}, which does not exist`)
  }
  visit(typeof root === 'boolean' ? undefined : root, '')
  return problems
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? typeof value).slice(0, 60)
}

function isRegExp(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}

function resolves(root: unknown, ref: string): boolean {
  let node = root
  for (const part of ref.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false
    node = (node as Readonly<Record<string, unknown>>)[key]
  }
  return true
}
