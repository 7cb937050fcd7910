/** Declaration of one environment setting. The plugin that reads it declares it, and `zin config:check` lists it. */
export type SettingSpec =
  | (SettingBase & {
      /** How the text of the environment is parsed; `bool` accepts true, 1, yes, on and false, 0, no, off; `list` is comma-separated. */
      readonly type: 'string'
      /** The value when the setting is missing or empty. */
      readonly default: string
      /** Masks the value in `zin config:check`. */
      readonly secret?: boolean
      /** Whether `zin add` writes a random value into `.env` if the app has none: 32 bytes, as `base64:` and Base64. */
      readonly generate?: boolean
      /** For a `string`: a regular expression that the value must match, unless it is the default. */
      readonly pattern?: string
      /** Describes `pattern` in error messages: `HH:MM-HH:MM, such as 22:00-06:00`. */
      readonly form?: string
    })
  | (SettingBase & {
      readonly type: 'int'
      readonly default: number
      /** For an `int` or `number`: the minimum. */
      readonly min?: number
      /** For an `int` or `number`: the maximum. */
      readonly max?: number
    })
  | (SettingBase & { readonly type: 'number'; readonly default: number; readonly min?: number; readonly max?: number })
  | (SettingBase & { readonly type: 'bool'; readonly default: boolean })
  | (SettingBase & { readonly type: 'list'; readonly default: readonly string[] })
  | (SettingBase & {
      readonly type: 'enum'
      readonly default: string
      /** For an `enum`: the allowed values. */
      readonly values: readonly string[]
    })
  | (SettingBase & {
      /** All variables that share the prefix of a setting whose name ends with `_*`: rest of the name → text. Only names are shown. */
      readonly type: 'family'
      readonly default: Readonly<Record<string, string>>
    })

interface SettingBase {
  /** One line: what it does, with its unit. */
  readonly summary: string
}

export type SettingSpecs = Readonly<Record<string, SettingSpec>>

type ValueOf<S extends SettingSpec> = S extends { type: 'int' | 'number' }
  ? number
  : S extends { type: 'bool' }
    ? boolean
    : S extends { type: 'list' }
      ? readonly string[]
      : S extends { type: 'family' }
        ? Readonly<Record<string, string>>
        : S extends { type: 'enum'; values: readonly (infer V)[] }
          ? V
          : string

/** Typed values of declared settings. */
export type SettingValues<S extends SettingSpecs> = { readonly [K in keyof S]: ValueOf<S[K]> }

/** Declares settings and keeps their literal types. */
export function defineSettings<const S extends SettingSpecs>(specs: S): S {
  return specs
}

/** One row of `zin config:check`. `value` is masked for secrets. */
export interface SettingReport {
  readonly name: string
  readonly value: string
  readonly source: 'environment' | '.env' | 'default'
  readonly readers: readonly string[]
  readonly type: SettingSpec['type']
  readonly summary: string
}
