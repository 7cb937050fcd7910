import { configErrors } from '../config/errors.js'
import { schemaEngine } from '../config/validate-options.js'
import { kindOf } from '../util/kind-of.js'
import { schemaFaults } from '../util/schema-faults.js'
import { suggest } from '../util/suggest.js'
import { defaultDeadlineMs, type ZinConfig } from './define-config.js'

/** Maximum delay of Node's timers. */
const maxMs = 2 ** 31 - 1

const text = { type: 'string', minLength: 1 }

/** Schemas of the scalar values of a configuration, by section. */
const sections: Readonly<Record<'app' | 'shutdown', { readonly properties: Readonly<Record<string, object>> }>> = {
  app: {
    properties: {
      name: text,
      host: text,
      port: { type: 'integer', minimum: 0, maximum: 65_535 },
      bodyLimit: { type: 'integer', minimum: 0 },
      trustedProxies: { type: 'integer', minimum: 0 },
      allowedHosts: { type: 'array', items: text, minItems: 1 },
    } satisfies Record<keyof NonNullable<ZinConfig['app']>, object>,
  },
  shutdown: {
    properties: {
      deadlineMs: { type: 'integer', minimum: 1, maximum: maxMs },
      delayMs: { type: 'integer', minimum: 0, maximum: maxMs },
    } satisfies Record<keyof NonNullable<ZinConfig['shutdown']>, object>,
  },
}

const kinds: Readonly<Record<keyof ZinConfig, 'an object' | 'a list'>> = {
  app: 'an object',
  shutdown: 'an object',
  plugins: 'a list',
  hooks: 'an object',
  routes: 'a list',
  commands: 'a list',
  migrations: 'a list',
  responders: 'an object',
}

/** Checks the default export of a configuration file. Throws ZIN_CONFIG_INVALID with the file and every invalid path. */
export function checkConfig(value: unknown, file: string): ZinConfig {
  const kind = kindOf(value)
  if (kind !== 'an object') {
    throw configErrors.ZIN_CONFIG_INVALID(`the default export of ${file} is ${kind}; write: export default defineConfig({ … })`)
  }
  const problems = problemsOf(value as Readonly<Record<string, unknown>>)
  if (problems.length > 0) throw configErrors.ZIN_CONFIG_INVALID(`${file} ${problems.join('; ')}`, problems)
  return value as ZinConfig
}

function problemsOf(config: Readonly<Record<string, unknown>>): string[] {
  const wrongKinds = Object.entries(kinds).filter(([key, kind]) => config[key] !== undefined && kindOf(config[key]) !== kind)
  const wrong = new Set(wrongKinds.map(([key]) => key))
  return [
    ...unknownKeys(config, Object.keys(kinds), ''),
    ...wrongKinds.map(([key, kind]) => `has ${kindOf(config[key])} as "${key}"; expected ${kind}`),
    ...(['app', 'shutdown'] as const).filter((key) => !wrong.has(key)).flatMap((key) => sectionProblems(key, config[key])),
    ...shutdownProblems((config as ZinConfig).shutdown),
    ...(['hooks', 'responders'] as const).filter((key) => !wrong.has(key)).flatMap((key) => functionProblems(key, config[key])),
  ]
}

function sectionProblems(section: keyof typeof sections, given: unknown): string[] {
  if (given === undefined) return []
  const { properties: known } = sections[section]
  // Compiling a schema takes far longer than checking a value: only what is given is compiled.
  const properties = Object.fromEntries(Object.entries(known).filter(([key]) => key in (given as object)))
  const validate = schemaEngine().compile({ type: 'object', properties })
  const faults = validate(given) ? [] : schemaFaults(validate.errors ?? [])
  return [
    ...unknownKeys(given as object, Object.keys(known), `${section}.`),
    ...faults.map(({ path, message }) => `has an invalid value: ${section}.${path} ${message}`),
  ]
}

/** The delay is part of the deadline; requests in flight and plugins need at least half of it. */
function shutdownProblems(given: ZinConfig['shutdown']): string[] {
  const { delayMs = 0, deadlineMs = defaultDeadlineMs } = given ?? {}
  // Wrong types are reported by the schema.
  if (!(delayMs > deadlineMs / 2)) return []
  return [
    `has an invalid value: shutdown.delayMs (${delayMs}) is more than half of shutdown.deadlineMs (${deadlineMs}), which includes it; lower the delay or raise the deadline`,
  ]
}

function functionProblems(section: string, given: unknown): string[] {
  return Object.entries(given ?? {})
    .filter(([, value]) => value !== undefined && typeof value !== 'function')
    .map(([key, value]) => `has ${kindOf(value)} as "${section}.${key}"; expected a function`)
}

function unknownKeys(given: object, known: readonly string[], path: string): string[] {
  return Object.keys(given)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const near = suggest(key, known)
      const hint = near === undefined ? `known keys: ${known.map((name) => path + name).join(', ')}` : `did you mean "${path}${near}"?`
      return `has an unknown key "${path}${key}"; ${hint}`
    })
}
