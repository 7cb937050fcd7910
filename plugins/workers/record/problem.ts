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

/** The keys of an object that are not known. */
export function unknownKeys(value: Readonly<Record<string, unknown>>, known: readonly string[]): readonly string[] {
  return Object.keys(value).filter((key) => !known.includes(key))
}

/** A field of an input; undefined when it is only inherited. */
export function fieldOf(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined
}
