import { Ajv, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import { factoryName } from '../util/factory-name.js'
import { schemaFaults } from '../util/schema-faults.js'
import { suggest } from '../util/suggest.js'
import { functionKeyword, isRequired, type OptionsDeclaration } from './options.js'

export type OptionsResult = { readonly options: object } | { readonly problems: readonly string[] }

/** A plugin that may have options. */
export interface WithOptions {
  readonly name: string
  readonly options?: OptionsDeclaration
}

/** Merges given options over the defaults and checks them. Keys that the schema does not know are problems. */
export class OptionsValidator {
  #engine: Ajv | undefined

  validate(spec: WithOptions, given: Readonly<Record<string, unknown>>): OptionsResult {
    const known = spec.options?.schema as { properties?: Record<string, unknown> } | undefined
    const keys = Object.keys(known?.properties ?? {})
    const unknown = Object.keys(given).filter((key) => !keys.includes(key))
    const options: Record<string, unknown> = { ...spec.options?.defaults, ...defined(given) }
    const missing = Object.keys(options).filter((key) => isRequired(options[key]))
    for (const key of missing) delete options[key]
    const problems = [...unknown.map((key) => unknownOption(spec.name, key, keys)), ...missing.map((key) => missingOption(spec.name, key))]
    if (spec.options !== undefined && needsCheck(spec.options.schema, options, given)) {
      const validate = this.#compile(spec.options.schema)
      // Unknown and missing options of the first level were named above.
      const named = new Set([...unknown, ...missing])
      const faults = validate(options) ? [] : schemaFaults(validate.errors ?? []).filter(({ path }) => !named.has(path))
      problems.push(
        ...faults.map(({ path, keyword, message }) =>
          keyword === 'required' && !path.includes('.')
            ? missingOption(spec.name, path)
            : `${spec.name}: ${path === '' ? 'options' : `option "${path}"`} ${message}`,
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

/** Finds every problem and changes nothing; it knows the formats that routes know. */
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

/** Compiling a schema costs milliseconds of the boot. A plugin's defaults fit it, which `describePlugin` tests. */
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
    near !== undefined ? `did you mean "${near}"?` : keys.length > 0 ? `known options: ${keys.join(', ')}` : 'the command has no options'
  return `${plugin}: unknown option "${key}"; ${hint}`
}

function missingOption(plugin: string, key: string): string {
  return `${plugin}: option "${key}" is required; give it in zin.config.ts: ${factoryName(plugin)}({ ${key}: … })`
}
