import { suggest } from 'zin'
import type { Problem, ProblemCode } from './errors.js'

export type { Problem } from './errors.js'

export type Check = (value: unknown) => Problem | undefined

export function problem(field: string, code: ProblemCode, message: string): Problem {
  return { field, code, message }
}

export function missingField(field: string): Problem {
  return problem(field, 'MISSING_REQUIRED_FIELD', `"${field}" is missing`)
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isIntIn(value: unknown, min: number, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
}

export function isOneOf<T extends string>(value: unknown, known: readonly T[]): value is T {
  return typeof value === 'string' && (known as readonly string[]).includes(value)
}

/** The unknown keys of an object. */
export function unknownKeys(value: Readonly<Record<string, unknown>>, known: readonly string[]): readonly string[] {
  return Object.keys(value).filter((key) => !known.includes(key))
}

/** Maximum number of unknown keys that are reported per object, and maximum length of each, in characters. */
const mostReported = 20
const mostShown = 100

/** One problem for each unknown key of the object at `path` (empty: the input itself), with a suggestion. */
export function unknownFields(
  value: Readonly<Record<string, unknown>>,
  known: readonly string[],
  code: ProblemCode,
  path = '',
): readonly Problem[] {
  return unknownKeys(value, known)
    .slice(0, mostReported)
    .map((key) => unknownName(key, known, code, path))
}

/** The problem of an unknown name in the object at `path`. */
export function unknownName(name: string, known: readonly string[], code: ProblemCode, path = ''): Problem {
  const shown = name.slice(0, mostShown)
  const field = path === '' ? shown : `${path}.${shown}`
  const near = suggest(shown, known)
  const hint = near === undefined ? `known ones: ${known.join(', ')}` : `did you mean "${near}"?`
  return problem(field, code, `"${field}" is not known; ${hint}`)
}

/** A field of an input; undefined when it is only inherited. */
export function fieldOf(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined
}
