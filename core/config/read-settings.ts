import { maskText } from '../log/redact.js'
import { numberWords } from '../util/number-words.js'
import { suggest } from '../util/suggest.js'
import { configErrors } from './errors.js'
import type { SettingReport, SettingSpec, SettingSpecs, SettingValues } from './settings.js'

/** The environment of a host: values and their sources. */
export interface EnvSource {
  readonly values: Readonly<Record<string, string | undefined>>
  sourceOf(name: string): 'environment' | '.env' | 'default'
  /** Path of the `.env`, whether or not it exists. */
  readonly file?: string
}

/** Creates an environment from a plain record; for tests and embedders. */
export function plainEnv(values: Readonly<Record<string, string | undefined>>): EnvSource {
  return { values, sourceOf: (name) => (values[name] === undefined ? 'default' : 'environment') }
}

/**
 * Reads declared settings, for a command that needs no app; plugins get theirs as `settings` of their context. Throws
 * ZIN_SETTING_INVALID with all invalid ones in `details`.
 *
 * @param reader name of the reader, for the message.
 */
export function readSettings<S extends SettingSpecs>(
  specs: S,
  values: Readonly<Record<string, string | undefined>>,
  reader: string,
): SettingValues<S> {
  return new SettingsReader(plainEnv(values)).read(reader, specs)
}

/** Reads declared settings and records their readers. */
export class SettingsReader {
  readonly #env: EnvSource
  readonly #rows = new Map<string, { spec: SettingSpec; value: string; readers: Set<string> }>()

  constructor(env: EnvSource) {
    this.#env = env
  }

  /** Reads the settings of one reader. Throws ZIN_SETTING_INVALID with all invalid ones in `details`. */
  read<S extends SettingSpecs>(reader: string, specs: S): SettingValues<S> {
    const { problems, values } = this.tryRead(reader, specs)
    if (problems.length > 0) throw configErrors.ZIN_SETTING_INVALID(problems)
    return values
  }

  /** The same without an error: an invalid setting has its default, and `problems` names it. */
  tryRead<S extends SettingSpecs>(reader: string, specs: S): { readonly values: SettingValues<S>; readonly problems: readonly string[] } {
    const problems: string[] = []
    const entries = Object.entries(specs).map(([name, spec]) => {
      const family = spec.type === 'family' ? membersOf(name, this.#env.values) : {}
      const text = spec.type === 'family' ? Object.keys(family).join(', ') : this.#env.values[name]
      const parsed =
        spec.type === 'family' ? { value: family } : text === undefined || text === '' ? { value: spec.default } : parse(spec, text)
      if ('expected' in parsed)
        problems.push(`${name}=${shown(spec, text ?? '')}: expected ${parsed.expected} (${this.#placeOf(name)}read by ${reader})`)
      const other = this.#remember(reader, name, spec, text)
      if (other !== undefined) problems.push(declaredTwice(name, spec, reader, other))
      return [name, 'value' in parsed ? parsed.value : spec.default]
    })
    return { values: Object.fromEntries(entries), problems }
  }

  /** Lists every setting read so far, sorted by name. */
  report(): readonly SettingReport[] {
    return [...this.#rows]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, row]) => ({
        name,
        value: row.value,
        source: this.#sourceOf(name, row),
        readers: [...row.readers],
        type: row.spec.type,
        summary: row.spec.summary,
      }))
  }

  /** Where an invalid value is set, if that is known. */
  #placeOf(name: string): string {
    const { file } = this.#env
    return file === undefined ? '' : `set in ${this.#env.sourceOf(name) === '.env' ? file : 'the environment'}, `
  }

  #sourceOf(name: string, { spec, value }: { readonly spec: SettingSpec; readonly value: string }): SettingReport['source'] {
    if (spec.type === 'family') return value === '' ? 'default' : this.#env.sourceOf(`${name.slice(0, -1)}${value.split(', ')[0]}`)
    return this.#env.values[name] ? this.#env.sourceOf(name) : 'default'
  }

  /** Records a reader. Returns an earlier reader's declaration of the setting if it conflicts. */
  #remember(reader: string, name: string, spec: SettingSpec, text: string | undefined): Declaration | undefined {
    const known = this.#rows.get(name)
    if (known === undefined) {
      const value = spec.type === 'family' ? (text ?? '') : masked(spec, text || String(spec.default))
      this.#rows.set(name, { spec, value, readers: new Set([reader]) })
      return undefined
    }
    if (isSecret(spec)) Object.assign(known, { value: masked(spec, known.value) })
    known.readers.add(reader)
    const [first = reader] = known.readers
    return differences(known.spec, spec).length > 0 ? { reader: first, spec: known.spec } : undefined
  }
}

/** The variables of a family; empty ones are skipped. */
function membersOf(name: string, values: EnvSource['values']): Readonly<Record<string, string>> {
  const start = name.slice(0, -1)
  return Object.fromEntries(
    Object.entries(values).flatMap(([variable, text]) =>
      variable.startsWith(start) && variable.length > start.length && text ? [[variable.slice(start.length), text]] : [],
    ),
  )
}

interface Declaration {
  readonly reader: string
  readonly spec: SettingSpec
}

/** Fields in which two declarations of one setting differ. What is not read with its value is ignored: `summary` and `generate`. */
function differences(one: SettingSpec, other: SettingSpec): readonly string[] {
  const fields = (spec: SettingSpec): Readonly<Record<string, unknown>> => ({ ...spec, summary: undefined, generate: undefined })
  const [first, second] = [fields(one), fields(other)]
  const names = new Set([...Object.keys(first), ...Object.keys(second)])
  return [...names].filter((name) => JSON.stringify(first[name]) !== JSON.stringify(second[name]))
}

function declaredTwice(name: string, spec: SettingSpec, reader: string, other: Declaration): string {
  const fields = differences(other.spec, spec).map((field) => `"${field}"`)
  return `${name} is declared by ${other.reader} and by ${reader} with a different ${fields.join(' and ')}; export the declaration from one of them and import it in the other`
}

/** The problem of a setting's declaration, if any. */
export function settingProblem(spec: SettingSpec): string | undefined {
  const types: readonly string[] = ['string', 'int', 'number', 'bool', 'list', 'enum', 'family'] satisfies SettingSpec['type'][]
  if (!types.includes(spec?.type)) return `"type" must be one of ${types.join(', ')}`
  if (typeof spec.summary !== 'string' || spec.summary === '') return '"summary" must describe it in one line'
  if (spec.type === 'enum' && !Array.isArray(spec.values)) return '"values" must list the allowed values'
  if (spec.type === 'family') return Object.keys(spec.default ?? { missing: true }).length > 0 ? '"default" must be {}' : undefined
  const fits =
    spec.type === 'list'
      ? Array.isArray(spec.default)
      : typeof spec.default === kinds[spec.type] && (spec.default === '' || 'value' in parse(spec, String(spec.default)))
  return fits ? undefined : `"default" does not match its type and limits`
}

const kinds = { string: 'string', enum: 'string', int: 'number', number: 'number', bool: 'boolean' } as const

type Parsed = { readonly value: unknown } | { readonly expected: string }

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  yes: true,
  on: true,
  false: false,
  '0': false,
  no: false,
  off: false,
}

function parse(spec: Exclude<SettingSpec, { readonly type: 'family' }>, text: string): Parsed {
  switch (spec.type) {
    case 'string':
      return spec.pattern !== undefined && !new RegExp(spec.pattern).test(text)
        ? { expected: spec.form ?? `text matching ${spec.pattern}` }
        : { value: text }
    case 'int':
    case 'number':
      return parseNumber(spec, text)
    case 'bool': {
      const value = booleans[text.trim().toLowerCase()]
      return value === undefined ? { expected: 'true or false' } : { value }
    }
    case 'list':
      return {
        value: text
          .split(',')
          .map((item) => item.trim())
          .filter((item) => item !== ''),
      }
    case 'enum':
      return spec.values.includes(text) ? { value: text } : { expected: `one of ${spec.values.join(', ')}${meant(text, spec.values)}` }
  }
}

function parseNumber(spec: SettingSpec & { type: 'int' | 'number' }, text: string): Parsed {
  const { min = -Infinity, max = Infinity } = spec
  const value = /^\s*[-+]?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : Number.NaN
  const fits = value >= min && value <= max && (spec.type === 'number' || Number.isSafeInteger(value))
  return fits ? { value } : { expected: numberWords(spec.type, spec) }
}

function isSecret(spec: SettingSpec): boolean {
  return spec.type === 'string' && spec.secret === true
}

function masked(spec: SettingSpec, text: string): string {
  return isSecret(spec) && text !== '' ? '********' : text
}

/** Maximum number of characters of an invalid value that an error quotes. */
const maxShown = 100

function shown(spec: SettingSpec, text: string): string {
  const safe = masked(spec, maskText(text))
  return safe.length > maxShown ? `${safe.slice(0, maxShown)}…` : safe
}

function meant(text: string, values: readonly string[]): string {
  const near = suggest(text.slice(0, maxShown), values)
  return near === undefined ? '' : `; did you mean "${near}"?`
}
