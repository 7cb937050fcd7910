import { readdir, readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ZinError } from '../errors.js'
import { type Build, buildFolder, builtConfig, readBuild, readManifest } from './build.js'
import { loadEnv } from './env-file.js'
import { configErrors, configNames } from './errors.js'
import { loadingFailed } from './load-errors.js'
import { isCommonJs } from './package-type.js'
import type { EnvSource } from './read-settings.js'
import { enableTypescript } from './tsx.js'

export interface LoadedConfig {
  /** The default export of the file, unchecked. */
  readonly exported: unknown
  readonly file: string
  /** Folder of the app. Its relative paths are resolved against it. */
  readonly rootDir: string
  /** Folder of the code: that of the app, or its build. */
  readonly codeDir: string
  /** Why its build is not used, if it has one. */
  readonly notice?: string
  readonly env: EnvSource
}

export interface FoundConfig {
  readonly file: string
  /** Folder of the app. */
  readonly rootDir: string
}

/**
 * Finds the configuration file of the app that contains `cwd`: the nearest one in that folder or above it, or that in its build. Throws
 * ZIN_CONFIG_UNSUPPORTED if it has an unsupported format.
 */
export async function findConfig(cwd: string): Promise<FoundConfig | undefined> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    for (const name of configNames) {
      const file = join(folder, name)
      if (await isFile(file)) return { file, rootDir: folder }
    }
    await refuseOthers(folder)
    const built = join(folder, buildFolder)
    if (await readManifest(built)) return { file: join(built, builtConfig), rootDir: folder }
    if (folder === dirname(folder)) return undefined
  }
}

/**
 * Finds and loads the configuration of the app that contains `cwd`. The `.env` next to it is read first, and values that only it defines
 * are written into `environment`. TypeScript is loaded through tsx in this process, so the app and its configuration share one copy of `zin`.
 *
 * @throws ZinError ZIN_CONFIG_MISSING, ZIN_CONFIG_UNSUPPORTED, ZIN_CONFIG_SYNTAX, ZIN_CONFIG_IMPORT, ZIN_CONFIG_FAILED, ZIN_CONFIG_COMMONJS,
 * ZIN_ENV_FILE, or a ZinError that the configuration itself threw, with its location.
 */
export async function loadConfig(cwd: string, environment: Record<string, string | undefined> = process.env): Promise<LoadedConfig> {
  const found = await findConfig(cwd)
  if (found === undefined) throw configErrors.ZIN_CONFIG_MISSING(cwd)
  const { rootDir } = found
  const env = await loadEnv(rootDir, environment)
  // `zin dev` runs what is being written.
  const build = environment.ZIN_DEV === '1' ? undefined : await readBuild(rootDir)
  if (build !== undefined && build.changed === undefined) {
    // Before the build is loaded: its stacks then name the sources.
    process.setSourceMapsEnabled(true)
    return { exported: (await importModule(build.file)).default, file: build.file, rootDir, codeDir: dirname(build.file), env }
  }
  const { default: exported } = await importModule(found.file, build)
  const notice = build && `${build.changed} has changed since the app was built: it runs from its sources; run "zin build"`
  return { exported, file: found.file, rootDir, codeDir: dirname(found.file), env, ...(notice === undefined ? {} : { notice }) }
}

/** Reports a file that looks like the configuration instead of ignoring it. */
async function refuseOthers(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  const other = names.find((name) => /^zin\.config\.(c[jt]s|[jt]sx|json[c5]?|ya?ml|toml)$/.test(name))
  if (other !== undefined) throw configErrors.ZIN_CONFIG_UNSUPPORTED(join(folder, other))
}

/** @param stale the build of the app if it is not up to date. */
async function importModule(file: string, stale?: Build): Promise<{ readonly default?: unknown }> {
  if (['.ts', '.mts'].includes(extname(file))) {
    if (await isCommonJs(file)) {
      throw configErrors.ZIN_CONFIG_COMMONJS(file)
    }
    await loadPackageOf(file)
    await enableTypescript(file, ['esm']).catch((error: unknown) => {
      throw error instanceof ZinError && error.code === 'ZIN_CONFIG_UNBUILT' ? configErrors.ZIN_CONFIG_UNBUILT(file, stale?.changed) : error
    })
  }
  try {
    return (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
  } catch (error) {
    throw await loadingFailed(error, file)
  }
}

/**
 * Loads what a configuration imports from `zin` before tsx is registered: every module loaded after that passes through tsx, which takes
 * several times as long as loading the module. An import that fails here fails again later and is reported then.
 */
async function loadPackageOf(file: string): Promise<void> {
  const { resolve } = createRequire(file)
  const text = await readFile(file, 'utf8')
  const names = [...text.matchAll(/\bfrom\s+['"](zin(?:\/[\w/-]+)?)['"]/g)].map(([, name = '']) => name)
  for (const name of new Set(names)) {
    try {
      await import(pathToFileURL(resolve(name)).href)
    } catch {}
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
