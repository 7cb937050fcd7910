import { plainEnv, SettingsReader } from './read-settings.js'
import type { SettingSpec } from './settings.js'

/** Reads one setting by type. Each throws a ZinError ZIN_SETTING_INVALID with the name, the value and what was expected. */
export interface EnvReader {
  /** Default ''. */
  string(name: string, fallback?: string): string
  /** As `string`; the value is masked in errors. */
  secret(name: string, fallback?: string): string
  int(name: string, fallback: number): number
  int(name: string): number | undefined
  number(name: string, fallback: number): number
  number(name: string): number | undefined
  /** `true`, `1`, `yes`, `on` and their opposites. Default false. */
  bool(name: string, fallback?: boolean): boolean
  /** Comma-separated. Default []. */
  list(name: string, fallback?: readonly string[]): readonly string[]
}

/** Reads from an environment; `reader` names the reader in errors. */
export function envReader(environment: Readonly<Record<string, string | undefined>>, reader: string): EnvReader {
  // A missing number without a default stays undefined, which setting specs cannot express.
  const read = (name: string, spec: unknown): never => {
    const values: Readonly<Record<string, unknown>> = new SettingsReader(plainEnv(environment)).read(reader, {
      [name]: spec as SettingSpec,
    })
    return values[name] as never
  }
  const summary = ''
  return {
    string: (name, fallback = '') => read(name, { type: 'string', default: fallback, summary }),
    secret: (name, fallback = '') => read(name, { type: 'string', default: fallback, secret: true, summary }),
    int: (name: string, fallback?: number) => read(name, { type: 'int', default: fallback, summary }),
    number: (name: string, fallback?: number) => read(name, { type: 'number', default: fallback, summary }),
    bool: (name, fallback = false) => read(name, { type: 'bool', default: fallback, summary }),
    list: (name, fallback = []) => read(name, { type: 'list', default: fallback, summary }),
  }
}

/**
 * Settings for use inside of `zin.config.ts`: the process environment, then `.env`, then the default. An empty value counts as missing.
 *
 * @example
 * export default defineConfig({ app: { port: env.int('PORT', 7777) }, plugins: [env.bool('WITH_HELLO') && hello()] })
 */
export const env: EnvReader = envReader(process.env, 'zin.config.ts')
