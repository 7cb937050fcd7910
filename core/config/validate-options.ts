import { Ajv, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import { factoryName } from '../util/factory-name.js'
import { functionKeyword, schemaFaults } from '../util/schema-faults.js'
import { type StandardSchema, validateStandard } from '../util/standard-schema.js'
import { suggest } from '../util/suggest.js'
import { isRequired, type OptionsDeclaration } from './options.js'

export type OptionsResult = { readonly options: object } | { readonly problems: readonly string[] }

/** A plugin that may have options. */
export interface WithOptions {
  readonly name: string
  readonly options?: OptionsDeclaration
}

/** Merges the given options over the defaults and validates them. Keys that are not in the schema are problems. */
export class OptionsValidator {
  #engine: Ajv | undefined

  validate(spec: WithOptions, given: Readonly<Record<string, unknown>>): OptionsResult {
    if (spec.options?.standard !== undefined) return validateStandardOptions(spec.name, spec.options.standard, given)
    const known = spec.options?.schema as { properties?: Record<string, unknown> } | undefined
    const keys = Object.keys(known?.properties ?? {})
    const unknown = Object.keys(given).filter((key) => !keys.includes(key))
    const options: Record<string, unknown> = { ...spec.options?.defaults, ...defined(given) }
    const missing = Object.keys(options).filter((key) => isRequired(options[key]))
    for (const key of missing) delete options[key]
    const problems = [...unknown.map((key) => unknownOption(spec.name, key, keys)), ...missing.map((key) => missingOption(spec.name, key))]
    if (spec.options !== undefined && needsCheck(spec.options.schema, options, given)) {
      const validate = this.#compile(spec.options.schema)
      // Unknown and missing options of the first level were reported above.
      const named = new Set([...unknown, ...missing])
      const faults = validate(options) ? [] : schemaFaults(validate.errors ?? []).filter(({ path }) => !named.has(path))
      problems.push(
        ...faults.map(({ path, keyword, message }) =>
          keyword === 'required' && !path.includes('.') ? missingOption(spec.name, path) : invalidOption(spec.name, path, message),
        ),
      )
    }
    return problems.length > 0 ? { problems } : { options }
  }

  #compile(schema: object): ValidateFunction {
    this.#engine ??= schemaEngine()
    return this.#engine.compile(schema)
  }
}

function validateStandardOptions(plugin: string, schema: StandardSchema, given: Readonly<Record<string, unknown>>): OptionsResult {
  const result = validateStandard(schema, defined(given))
  if (result instanceof Promise) {
    result.catch(() => undefined)
    return { problems: [`${plugin}: its options are validated asynchronously, which is not supported`] }
  }
  const { faults, value } = result
  if (faults.length > 0) return { problems: faults.map(({ message, path }) => invalidOption(plugin, path, `is invalid: ${message}`)) }
  return { options: value as object }
}

/** Creates a validator that reports every problem, changes nothing, and supports the same formats as routes. */
export function schemaEngine(): Ajv {
  const engine = new Ajv({ allErrors: true, strict: false, useDefaults: false, validateSchema: false, verbose: true, logger: false })
  ajvFormats.default(engine)
  engine.addKeyword({
    keyword: functionKeyword,
    validate: (_: unknown, value: unknown) => typeof value === 'function',
    error: { message: 'must be a function' },
  })
  return engine
}

/** Compiling a schema costs milliseconds of the boot. Defaults need no check: `describePlugin` tests that they match the schema. */
function needsCheck(schema: object, options: object, given: object): boolean {
  const { required = [] } = schema as { required?: readonly string[] }
  return Object.keys(defined({ ...given })).length > 0 || required.some((key) => !Object.hasOwn(options, key))
}

function defined(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function unknownOption(plugin: string, key: string, keys: readonly string[]): string {
  const near = suggest(key, keys)
  const hint =
    near !== undefined ? `did you mean "${near}"?` : keys.length > 0 ? `known options: ${keys.join(', ')}` : 'the plugin has no options'
  return `${plugin}: unknown option "${key}"; ${hint}`
}

function invalidOption(plugin: string, path: string, message: string): string {
  if (path === '') return `${plugin}: options ${message}`
  const [option] = path.split(/[.[]/, 1)
  return `${plugin}: option "${path}" ${message} (zin.config.ts: ${factoryName(plugin)}({ ${option}: … }))`
}

function missingOption(plugin: string, key: string): string {
  return `${plugin}: option "${key}" is required; set it in zin.config.ts: ${factoryName(plugin)}({ ${key}: … })`
}
