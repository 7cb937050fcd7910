/** A schema of another library (Zod, Valibot, ArkType, …): Standard Schema 1, https://standardschema.dev. `Output` is what it makes of a value. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** Standard JSON Schema, which some libraries have. It may throw where a type has no JSON schema. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>
      readonly output: (options: { readonly target: string }) => Record<string, unknown>
    }
  }
}

/** The outcome of a validation: with `issues`, the value does not match. */
export interface StandardResult<Output> {
  readonly value?: Output
  readonly issues?: readonly StandardIssue[] | undefined
}

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export function isStandardSchema(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null || !('~standard' in schema)) return false
  const standard = schema['~standard'] as { readonly version?: unknown; readonly validate?: unknown } | undefined
  return standard?.version === 1 && typeof standard.validate === 'function'
}

/** The JSON schema of what a schema accepts, or of what it makes of that; undefined if its library cannot say. */
export function jsonSchemaOf(schema: unknown, side: 'input' | 'output'): Readonly<Record<string, unknown>> | undefined {
  if (!isStandardSchema(schema)) return schema as Readonly<Record<string, unknown>> | undefined
  try {
    const { $schema: _, ...rest } = schema['~standard'].jsonSchema?.[side]({ target: 'draft-07' }) ?? {}
    return Object.keys(rest).length === 0 ? undefined : rest
  } catch {
    return undefined
  }
}

/** One mismatch, in the words of the schema's library. */
export interface StandardFault {
  /** `name`, `items[0].id`; empty for the value itself. */
  readonly path: string
  readonly message: string
}

/** Validates a value. The promise of a schema that validates asynchronously settles to the same. */
export function validateStandard(
  schema: StandardSchema,
  value: unknown,
): { readonly value: unknown; readonly faults: readonly StandardFault[] } | Promise<{ value: unknown; faults: readonly StandardFault[] }> {
  const settle = (result: StandardResult<unknown>) => ({ value: result.value, faults: faultsOf(result) })
  const result = schema['~standard'].validate(value)
  return result instanceof Promise ? result.then(settle) : settle(result)
}

function faultsOf({ issues }: StandardResult<unknown>): readonly StandardFault[] {
  return (issues ?? []).map(({ message, path = [] }) => ({ path: pathOf(path), message: String(message) }))
}

function pathOf(path: NonNullable<StandardIssue['path']>): string {
  return path
    .map((part) => (typeof part === 'object' ? part.key : part))
    .reduce<string>((text, key) => (typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`), '')
}
