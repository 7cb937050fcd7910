import { stat } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ZinError } from '../errors.js'
import { suggest } from '../util/suggest.js'
import type { ZinConfig } from './define.js'
import { loadEnv } from './env-file.js'
import { configMissing, configNames, loadingFailed } from './load-errors.js'
import { isCommonJs } from './package-type.js'
import type { EnvSource } from './read-settings.js'

export interface LoadedConfig {
  readonly config: ZinConfig
  readonly file: string
  /** Folder of the file: relative paths of the app start here. */
  readonly rootDir: string
  readonly env: EnvSource
}

/** The configuration file of the app that `cwd` is in: the nearest one in it or above it. */
export async function findConfig(cwd: string): Promise<string | undefined> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    for (const name of configNames) {
      const file = join(folder, name)
      if (await isFile(file)) return file
    }
    if (folder === dirname(folder)) return undefined
  }
}

/**
 * Finds and loads the configuration of the app that `cwd` is in. `.env` beside it is read first, and what only it has is written
 * into `environment`. TypeScript is loaded through tsx in this process, so the app and its configuration share one copy of `zin`.
 *
 * @throws ZinError ZIN_CONFIG_MISSING, ZIN_CONFIG_SYNTAX, ZIN_CONFIG_IMPORT, ZIN_CONFIG_FAILED, ZIN_CONFIG_COMMONJS, ZIN_CONFIG_INVALID,
 * ZIN_ENV_FILE, or what the configuration itself threw on purpose, with its place.
 */
export async function loadConfig(cwd: string, environment: Record<string, string | undefined> = process.env): Promise<LoadedConfig> {
  const file = await findConfig(cwd)
  if (file === undefined) throw configMissing(cwd)
  const rootDir = dirname(file)
  const env = await loadEnv(rootDir, environment)
  return { config: checkConfig((await importModule(file)).default, file), file, rootDir, env }
}

async function importModule(file: string): Promise<{ readonly default?: unknown }> {
  if (['.ts', '.mts'].includes(extname(file))) {
    if (await isCommonJs(file)) {
      throw new ZinError('ZIN_CONFIG_COMMONJS', `${file} would load as CommonJS; put "type": "module" into the package.json of the app`)
    }
    const { register } = await import('tsx/esm/api')
    register()
  }
  try {
    return (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
  } catch (error) {
    throw await loadingFailed(error, file)
  }
}

const configKeys: Readonly<Record<keyof ZinConfig, true>> = {
  app: true,
  shutdown: true,
  plugins: true,
  hooks: true,
  routes: true,
  responders: true,
}

function checkConfig(value: unknown, file: string): ZinConfig {
  const invalid = (what: string): ZinError => new ZinError('ZIN_CONFIG_INVALID', `${file} ${what}`)
  const kind = kindOf(value)
  if (kind !== 'an object') throw invalid(`exports ${kind} by default; write: export default defineConfig({ … })`)
  const known = Object.keys(configKeys)
  for (const key of Object.keys(value as object)) {
    if (known.includes(key)) continue
    const near = suggest(key, known)
    throw invalid(`has an unknown key "${key}"; ${near === undefined ? `known keys: ${known.join(', ')}` : `did you mean "${near}"?`}`)
  }
  for (const key of ['plugins', 'routes'] as const) {
    const list = (value as ZinConfig)[key]
    if (list !== undefined && !Array.isArray(list)) throw invalid(`has ${kindOf(list)} as "${key}"; it takes a list`)
  }
  return value as ZinConfig
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Promise) return 'a promise'
  if (typeof value === 'object') return 'spec' in value ? 'a plugin' : 'an object'
  return typeof value === 'function' ? 'a function' : `a ${typeof value}`
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
