import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { AnyPluginSpec } from '../host/plugin.js'
import { suggest } from '../util/suggest.js'

export type OptionsResult = { readonly options: object } | { readonly problems: readonly string[] }

/** Merges given options over the defaults and checks them. Keys that the schema does not know are problems. */
export class OptionsValidator {
  #engine: Ajv | undefined

  validate(spec: AnyPluginSpec, given: Readonly<Record<string, unknown>>): OptionsResult {
    const known = spec.options?.schema as { properties?: Record<string, unknown> } | undefined
    const keys = Object.keys(known?.properties ?? {})
    const unknown = Object.keys(given).filter((key) => !keys.includes(key))
    const problems = unknown.map((key) => unknownOption(spec.name, key, keys))
    const options = { ...spec.options?.defaults, ...defined(given) }
    if (spec.options !== undefined && needsCheck(spec.options.schema, options, given)) {
      const validate = this.#compile(spec.options.schema)
      if (!validate(options)) problems.push(...(validate.errors ?? []).filter(isNotUnknownKey).map((error) => describe(spec.name, error)))
    }
    return problems.length > 0 ? { problems } : { options }
  }

  #compile(schema: object): ValidateFunction {
    this.#engine ??= schemaEngine()
    return this.#engine.compile(schema)
  }
}

/** Finds every problem and changes nothing. */
export function schemaEngine(): Ajv {
  return new Ajv({ allErrors: true, strict: false, useDefaults: false, validateSchema: false })
}

/** What is wrong with a value, to follow its name. */
export function wordsOf(error: ErrorObject): string {
  const allowed = error.keyword === 'enum' ? `: ${(error.params as { allowedValues: unknown[] }).allowedValues.join(', ')}` : ''
  return `${error.message ?? 'is invalid'}${allowed}`
}

/** Compiling a schema costs milliseconds of the boot. A plugin's defaults fit it, which `describePlugin` tests. */
function needsCheck(schema: object, options: object, given: object): boolean {
  const { required = [] } = schema as { required?: readonly string[] }
  return Object.keys(defined(given as Record<string, unknown>)).length > 0 || required.some((key) => !Object.hasOwn(options, key))
}

function defined(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function unknownOption(plugin: string, key: string, keys: readonly string[]): string {
  const near = suggest(key, keys)
  const hint =
    near !== undefined ? `did you mean "${near}"?` : keys.length > 0 ? `known options: ${keys.join(', ')}` : 'it takes no options'
  return `${plugin}: unknown option "${key}"; ${hint}`
}

function isNotUnknownKey(error: ErrorObject): boolean {
  return !(error.keyword === 'additionalProperties' && error.instancePath === '')
}

function describe(plugin: string, error: ErrorObject): string {
  const where = error.instancePath === '' ? 'options' : `option "${error.instancePath.slice(1).replaceAll('/', '.')}"`
  return `${plugin}: ${where} ${wordsOf(error)}`
}
