import type { ErrorObject } from 'ajv'
import { suggest } from './suggest.js'

/** One mismatch between a value and its schema, described for the sender of the value. */
export interface SchemaFault {
  /** Path in the value: `name`, `items[0].id`; empty for the value itself. */
  readonly path: string
  /** The JSON schema keyword that failed: `required`, `type`, `enum`, … */
  readonly keyword: string
  /** The problem, phrased to follow the name of the field. */
  readonly message: string
}

/**
 * Converts the errors of an Ajv validator to readable faults: missing and unknown fields are named, the branches of a union become one
 * fault, and a value outside a list is reported with the list and its nearest entry. Suggestions need the Ajv option `verbose: true`.
 */
export function schemaFaults(errors: readonly ErrorObject[]): readonly SchemaFault[] {
  return mergeUnions(errors).map(faultOf)
}

/** Marks the schema of a function. */
export const functionKeyword = 'x-function'

/** Maximum number of values and names in one message. */
const maxListed = 20

function faultOf(error: ErrorObject): SchemaFault {
  const { keyword } = error
  const params = error.params as Readonly<Record<string, unknown>>
  const at = pathOf(error.instancePath)
  const inside = (name: unknown): string => (at === '' ? String(name) : `${at}.${String(name)}`)
  switch (keyword) {
    case 'required':
      return { path: inside(params.missingProperty), keyword, message: 'is required' }
    case 'additionalProperties': {
      const known = (error.parentSchema?.properties ?? {}) as object
      return { path: inside(params.additionalProperty), keyword, message: `is not a known field${hint(params.additionalProperty, known)}` }
    }
    case 'propertyNames':
      return { path: inside(params.propertyName), keyword, message: 'has a name that is not allowed' }
    case 'enum':
    case 'const':
      return { path: at, keyword, message: mustBe(valuesOf(error), error.data) }
    case 'type':
      return { path: at, keyword, message: `must be ${typesOf(error).join(' or ')}` }
    case 'false schema':
      return { path: at, keyword, message: 'is not allowed' }
    default:
      return { path: at, keyword, message: error.message ?? 'is invalid' }
  }
}

function hint(name: unknown, properties: object): string {
  const known = Object.keys(properties)
  const near = suggest(String(name).slice(0, 100), known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return known.length > 0 ? `; known fields: ${listed(known)}` : ''
}

function mustBe(values: readonly unknown[], given: unknown): string {
  const words = worded(values)
  const near = typeof given === 'string' ? suggest(given.slice(0, 100), words) : undefined
  const question = near === undefined || values.length < 2 ? '' : `; did you mean "${near}"?`
  return `must be ${words.length > 1 ? 'one of ' : ''}${listed(words)}${question}`
}

const worded = (values: readonly unknown[]): readonly string[] =>
  values.map((value) => (typeof value === 'string' && value !== '' ? value : JSON.stringify(value)))

function listed(words: readonly string[]): string {
  const more = words.length - maxListed
  return words.slice(0, maxListed).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

const isValues = ({ keyword }: ErrorObject): boolean => keyword === 'const' || keyword === 'enum'
const isKind = (error: ErrorObject): boolean => error.keyword === 'type' || isValues(error)

/** Replaces each union and its branches, which Ajv reports before the union, with the actual faults. */
function mergeUnions(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const merged: ErrorObject[] = []
  for (const error of errors) {
    let start = merged.length
    if (error.keyword === 'anyOf' || error.keyword === 'oneOf') while (start > 0 && isInside(merged[start - 1], error)) start--
    const inside = merged.splice(start)
    merged.push(...(inside.length === 0 ? [error] : faultsOfUnion(error, inside.map(typeOfFunction))))
  }
  return merged
}

/** A branch for a function is one more type that the value may have. */
function typeOfFunction(error: ErrorObject): ErrorObject {
  return error.keyword === functionKeyword ? { ...error, keyword: 'type', params: { type: 'a function' } } : error
}

function isInside(error: ErrorObject | undefined, union: ErrorObject): boolean {
  if (error === undefined || !error.schemaPath.startsWith(`${union.schemaPath}/`)) return false
  return error.instancePath === union.instancePath || error.instancePath.startsWith(`${union.instancePath}/`)
}

/** Returns the faults of the nearest branch: one that accepts the type of the value, then the one with the fewest faults. */
function faultsOfUnion(union: ErrorObject, inside: readonly ErrorObject[]): readonly ErrorObject[] {
  const branches = branchesOf(union, inside)
  const sameKind = branches.filter((branch) => !branch.some((error) => error.instancePath === union.instancePath && isKind(error)))
  const candidates = sameKind.length > 0 ? sameKind : branches
  const fewest = Math.min(...candidates.map(({ length }) => length))
  const nearest = candidates.filter(({ length }) => length === fewest)
  const faults = joinKinds(nearest.flat(), union)
  return nearest.length > 1 && faults.length > 1 ? [...faults, union] : faults
}

/** Groups the errors of a union by branch. If a value is not in a list, its type error is omitted. */
function branchesOf(union: ErrorObject, inside: readonly ErrorObject[]): readonly (readonly ErrorObject[])[] {
  const branches: Record<string, ErrorObject[]> = {}
  for (const error of inside) {
    const index = error.schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0] as string
    branches[index] = [...(branches[index] ?? []), error]
  }
  return Object.values(branches).map((branch) => {
    const listed = new Set(branch.filter(isValues).map(({ instancePath }) => instancePath))
    return branch.filter(({ keyword, instancePath }) => keyword !== 'type' || !listed.has(instancePath))
  })
}

/** Merges the faults of several branches at one path: the values and types that it may have. */
function joinKinds(errors: readonly ErrorObject[], { schemaPath }: ErrorObject): readonly ErrorObject[] {
  return errors.flatMap((error) => {
    if (!isKind(error)) return [error]
    const same = errors.filter((other) => isKind(other) && other.instancePath === error.instancePath)
    if (same[0] !== error) return []
    if (same.length === 1) return [error]
    const allowedValues = [...new Set(same.filter(isValues).flatMap(valuesOf))]
    const type = [...new Set(same.flatMap(typesOf))]
    if (type.length === 0) return [{ ...error, schemaPath, keyword: 'enum', params: { allowedValues } }]
    if (allowedValues.length === 0) return [{ ...error, schemaPath, params: { type } }]
    return [{ ...error, schemaPath, keyword: 'anyOf', message: `must be ${[...worded(allowedValues), ...type].join(' or ')}` }]
  })
}

function valuesOf({ keyword, params }: ErrorObject): readonly unknown[] {
  const { allowedValue, allowedValues } = params as { readonly allowedValue?: unknown; readonly allowedValues?: readonly unknown[] }
  return keyword === 'const' ? [allowedValue] : (allowedValues ?? [])
}

function typesOf({ keyword, params }: ErrorObject): readonly string[] {
  return keyword === 'type' ? [(params as { readonly type: string | readonly string[] }).type].flat() : []
}

/** `/items/0/name` → `items[0].name`. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`), '')
}
