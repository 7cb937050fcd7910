/** Attempts that failed with the same error, as in the inputs of a decision. */
export interface CountedError {
  /** Name of the error class. */
  readonly class: string
  readonly message: string
  readonly count: number
  /** Id of a job that failed with it. */
  readonly example: string
}

/** Shown in place of a message to callers who may not see payloads. */
export const hiddenMessage = '[redacted]'

/** `TypeError: no such field <value> (12 times, such as in job 4711)`. */
export function errorText({ class: name, count, example, message }: CountedError): string {
  return `${name}: ${message} (${count === 1 ? 'once, in' : `${count} times, such as in`} job ${example})`
}

/** Returns a copy of plain data with every counted error in it without its message, which may hold personal data. Pure. */
export function withoutErrorMessages<T>(value: T): T {
  if (Array.isArray(value)) return value.map((one) => withoutErrorMessages(one)) as T
  if (typeof value !== 'object' || value === null) return value
  if (isCountedError(value)) return { ...value, message: hiddenMessage }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutErrorMessages(one)])) as T
}

/** Returns the counted errors in the inputs of a decision, by version. */
export function errorsIn(
  inputs: Readonly<Record<string, unknown>> | undefined,
): readonly (readonly [version: string, errors: readonly CountedError[]])[] {
  const { errors } = inputs ?? {}
  if (typeof errors !== 'object' || errors === null) return []
  return Object.entries(errors).flatMap(([version, list]) =>
    Array.isArray(list) && list.length > 0 && list.every(isCountedError) ? [[version, list] as const] : [],
  )
}

function isCountedError(value: unknown): value is CountedError {
  if (typeof value !== 'object' || value === null) return false
  const { class: name, count, example, message } = value as Partial<Record<keyof CountedError, unknown>>
  return typeof name === 'string' && typeof message === 'string' && typeof count === 'number' && typeof example === 'string'
}
