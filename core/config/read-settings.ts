import { ZinError } from '../errors.js'
import { maskText } from '../log/redact.js'
import { numberWords } from '../util/number-words.js'
import { suggest } from '../util/suggest.js'
import type { SettingReport, SettingSpec, SettingSpecs, SettingValues } from './settings.js'

/** The environment of a host: values, and where each came from. */
export interface EnvSource {
  readonly values: Readonly<Record<string, string | undefined>>
  sourceOf(name: string): 'environment' | '.env' | 'default'
  /** The `.env` that was looked for, there or not. */
  readonly file?: string
}

/** An environment made of a plain record; used by tests and embedders. */
export function plainEnv(values: Readonly<Record<string, string | undefined>>): EnvSource {
  return { values, sourceOf: (name) => (values[name] === undefined ? 'default' : 'environment') }
}

/** Reads declared settings and remembers who read what. */
export class SettingsReader {
  readonly #env: EnvSource
  readonly #rows = new Map<string, { spec: SettingSpec; value: string; readers: Set<string> }>()

  constructor(env: EnvSource) {
    this.#env = env
  }

  /** Values of one reader's settings. Throws ZIN_SETTING_INVALID with all malformed ones in `details`. */
  read<S extends SettingSpecs>(reader: string, specs: S): SettingValues<S> {
    const problems: string[] = []
    const entries = Object.entries(specs).map(([name, spec]) => {
      const text = this.#env.values[name]
      const parsed = text === undefined || text === '' ? { value: spec.default } : parse(spec, text)
      if ('expected' in parsed) problems.push(`${name}=${shown(spec, text ?? '')}: expected ${parsed.expected} (read by ${reader})`)
      this.#remember(reader, name, spec, text)
      return [name, 'value' in parsed ? parsed.value : spec.default]
    })
    if (problems.length > 0) throw new ZinError('ZIN_SETTING_INVALID', problems.join('; '), { details: problems })
    return Object.fromEntries(entries)
  }

  /** Every setting read so far, by name. */
  report(): readonly SettingReport[] {
    return [...this.#rows]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, row]) => ({
        name,
        value: row.value,
        source: this.#env.values[name] ? this.#env.sourceOf(name) : 'default',
        readers: [...row.readers],
        type: row.spec.type,
        summary: row.spec.summary,
      }))
  }

  #remember(reader: string, name: string, spec: SettingSpec, text: string | undefined): void {
    const known = this.#rows.get(name)
    if (known) {
      known.readers.add(reader)
      if (isSecret(spec) && !isSecret(known.spec)) Object.assign(known, { spec, value: masked(spec, known.value) })
      return
    }
    this.#rows.set(name, { spec, value: masked(spec, text || String(spec.default)), readers: new Set([reader]) })
  }
}

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

function parse(spec: SettingSpec, text: string): Parsed {
  switch (spec.type) {
    case 'string':
      return spec.pattern !== undefined && !new RegExp(spec.pattern).test(text)
        ? { expected: `text like ${spec.pattern}` }
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

/** Most characters of a malformed value that an error repeats. */
const maxShown = 100

function shown(spec: SettingSpec, text: string): string {
  const safe = masked(spec, maskText(text))
  return safe.length > maxShown ? `${safe.slice(0, maxShown)}…` : safe
}

function meant(text: string, values: readonly string[]): string {
  const near = suggest(text.slice(0, maxShown), values)
  return near === undefined ? '' : `; did you mean "${near}"?`
}
