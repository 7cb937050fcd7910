import type { Static, TObject, TUnsafe } from 'typebox'
import { Type } from 'typebox'
import { functionKeyword } from '../util/schema-faults.js'
import { isStandardSchema, jsonSchemaOf, type StandardSchema } from '../util/standard-schema.js'

/** The options of a plugin, created by {@link defineOptions}. */
export interface OptionsDeclaration<O extends object = object> {
  /** An object schema that rejects unknown keys. */
  readonly schema: object
  /** The values of options that the app omits. */
  readonly defaults: O
  /** Validates the options in place of `schema`, which then only describes them. */
  readonly standard?: StandardSchema<unknown, O>
}

/** The type of declared options: `type MailOptions = OptionsOf<typeof mailOptions>`. */
export type OptionsOf<D> = D extends OptionsDeclaration<infer O> ? O : never

type AnyFunction = (...args: never[]) => unknown

type ReadonlyDeep<T> = 0 extends 1 & T
  ? T
  : T extends AnyFunction
    ? T
    : T extends readonly (infer I)[]
      ? readonly ReadonlyDeep<I>[]
      : T extends object
        ? { readonly [K in keyof T]: ReadonlyDeep<T[K]> }
        : T

type StandardOutput<S> = S extends StandardSchema<infer _, infer Output extends object> ? ReadonlyDeep<Output> : never

const noDefault = Symbol.for('zin.option.required')

/** Whether a default is the marker of a required option. */
export function isRequired(value: unknown): boolean {
  return value === noDefault
}

/**
 * Declares the options of a plugin once: their types, defaults, validation and the rows of its README are derived from the declaration.
 * Each property has a `description`. A schema of Zod, Valibot, ArkType or another library with Standard Schema is accepted as well; it validates
 * synchronously, and the README gets the rows that its JSON schema describes. A property with a `default` or in `Type.Optional` may be omitted; all others are required. Unknown
 * options are rejected.
 *
 * @example
 * const mailOptions = defineOptions(
 *   Type.Object({
 *     url: Type.String({ format: 'uri', description: 'Address of the mail server' }),
 *     retries: Type.Integer({ minimum: 0, default: 3, description: 'Number of retries' }),
 *     onSent: Type.Optional(functionOption<(id: string) => void>({ description: 'Called after each mail' })),
 *   }),
 * )
 * type MailOptions = OptionsOf<typeof mailOptions>
 */
export function defineOptions<S extends TObject>(schema: S): OptionsDeclaration<ReadonlyDeep<Static<S>>>
export function defineOptions<S extends StandardSchema<unknown, object>>(schema: S): OptionsDeclaration<StandardOutput<S>>
export function defineOptions(schema: TObject | StandardSchema<unknown, object>): OptionsDeclaration {
  if (isStandardSchema(schema)) {
    const described = jsonSchemaOf(schema, 'input') ?? { type: 'object', properties: {} }
    return { schema: described, defaults: {}, standard: schema as StandardSchema<unknown, object> }
  }
  const { properties, required = [] } = schema as { properties: Readonly<Record<string, { default?: unknown }>>; required?: string[] }
  const defaults = Object.entries(properties).flatMap(([name, property]): [string, unknown][] => {
    if (property.default !== undefined) return [[name, frozen(property.default)]]
    return required.includes(name) ? [[name, noDefault]] : []
  })
  return { schema: { ...schema, additionalProperties: false }, defaults: Object.fromEntries(defaults) }
}

/** Returns the schema of an option whose value is a function. */
export function functionOption<F extends AnyFunction>(options: { readonly description: string }): TUnsafe<F> {
  return Type.Unsafe<F>({ ...options, [functionKeyword]: true })
}

/**
 * Returns the problems of an options declaration. At boot, defaults are compared only with the simple keywords of their schema, which is
 * cheap; `describePlugin` validates them fully.
 */
export function optionsProblems(options: OptionsDeclaration | undefined): readonly string[] {
  if (options === undefined) return []
  const { schema, defaults } = options as { readonly schema?: PropertySchema; readonly defaults?: Readonly<Record<string, unknown>> }
  if (schema?.type !== 'object' || typeof schema.properties !== 'object' || typeof defaults !== 'object') {
    return ['"options" must be what defineOptions(Type.Object({ … })) returns']
  }
  if ('onBootFailure' in schema.properties) return ['the option "onBootFailure" is reserved by the core; rename it']
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    const value = defaults[name]
    if (value === undefined || isRequired(value) || fits(property, value)) return []
    return [`the default of option "${name}" does not match its schema; change one of them`]
  })
}

interface PropertySchema {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, PropertySchema>>
  readonly anyOf?: readonly PropertySchema[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
}

function fits({ type, anyOf, const: only, minimum = -Infinity, maximum = Infinity }: PropertySchema, value: unknown): boolean {
  if (anyOf !== undefined) return anyOf.some((branch) => fits(branch, value))
  if (only !== undefined) return value === only
  if (typeof type === 'string' && type !== typeOf(value) && !(type === 'number' && typeOf(value) === 'integer')) return false
  return typeof value !== 'number' || (value >= minimum && value <= maximum)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Deep-freezes a default, because all hosts share it. */
function frozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}
