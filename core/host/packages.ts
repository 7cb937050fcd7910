import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AnyPluginSpec } from './plugin.js'

/** What a plugin needs one npm package for. */
export interface PackageUse<O = object, S = object> {
  /** When the package is needed, as the end of a sentence: `REDIS_URL is set`. Absent: always. */
  readonly when?: string
  /** Whether this app needs it. Default: yes. */
  needed?(app: { readonly options: O; readonly settings: S }): boolean
  /** Whether `zin add <plugin>` installs it. Default true; `zin add <plugin> --all` installs every package. */
  readonly added?: boolean
}

/** The npm packages that a plugin needs, by name. */
export type PackageUses<O = object, S = object> = Readonly<Record<string, PackageUse<O, S>>>

/** Returns the packages that a plugin needs with these options and settings, and that are not installed beside the app or Zin. */
export function missingPackages(spec: AnyPluginSpec, options: object, settings: object, rootDir: string): readonly string[] {
  const uses = (spec.packages ?? {}) as PackageUses
  const needed = Object.keys(uses).filter((name) => uses[name]?.needed?.({ options, settings }) ?? true)
  return needed.filter((name) => !isInstalled(name, join(rootDir, 'package.json')) && !isInstalled(name, import.meta.url))
}

/** The command that adds these packages of a plugin. */
export function addCommand(spec: AnyPluginSpec, names: readonly string[]): string {
  const uses = (spec.packages ?? {}) as PackageUses
  return `zin add ${spec.name}${names.some((name) => uses[name]?.added === false) ? ' --all' : ''}`
}

function isInstalled(name: string, from: string): boolean {
  try {
    createRequire(from).resolve(name)
    return true
  } catch (error) {
    // A package for `import` only is there, but has no path for `require`.
    return (error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND'
  }
}
