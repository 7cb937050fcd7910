import { plainEnv, SettingsReader } from './read-settings.js'
import type { SettingSpec } from './settings.js'

/** Reads single settings by type. Each method throws ZIN_SETTING_INVALID with the name, the value and the expected type. */
export interface EnvReader {
  /** Default ''. */
  string(name: string, fallback?: string): string
  /** Like `string`, but the value is masked in errors. */
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

/** Creates a reader for an environment. Errors refer to it as `reader`. */
export function envReader(environment: Readonly<Record<string, string | undefined>>, reader: string): EnvReader {
  // A missing number without a default is undefined, which setting specs cannot express.
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
 * Reads settings in `zin.config.ts`: from the process environment, then `.env`, then the default. An empty value counts as missing.
 *
 * @example
 * export default defineConfig({ app: { port: env.int('PORT', 7777) }, plugins: [env.bool('WITH_HELLO') && hello()] })
 */
export const env: EnvReader = envReader(process.env, 'zin.config.ts')
