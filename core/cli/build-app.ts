import { copyFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure, build, Plugin } from 'esbuild'
import { buildFolder, builtConfig, digestOf, manifestFile, readManifest } from '../config/build.js'
import type { FoundConfig } from '../config/load.js'
import { hostErrors } from '../host/errors.js'
import { cliErrors } from './errors.js'

const compiledTypes: ReadonlySet<string> = new Set(['.ts', '.mts', '.tsx', '.jsx'])
/** Other files that code reads or imports from beside it. Anything else is read from the folder of the app. */
const copiedTypes: ReadonlySet<string> = new Set(['.js', '.mjs', '.cjs', '.json', '.node', '.sql', '.wasm'])
const skippedFolders: ReadonlySet<string> = new Set(['node_modules', 'dist', 'coverage', buildFolder, `${buildFolder}.new`])
const skippedFiles = /\.(test|spec)\.[cm]?[jt]sx?$|\.d\.[cm]?ts$|^(package|package-lock|tsconfig.*|biome)\.json$/

export interface BuiltApp {
  /** Number of files. */
  readonly compiled: number
  readonly copied: number
}

/**
 * Compiles each source file of an app to one in its folder `build`, at the same place, with a source map. Packages stay outside. The folder is
 * replaced when all is done.
 */
export async function buildApp({ file, rootDir }: FoundConfig): Promise<BuiltApp> {
  const target = join(rootDir, buildFolder)
  const exists = await stat(target).catch(() => undefined)
  if (exists !== undefined && (await readManifest(target)) === undefined) throw cliErrors.ZIN_BUILD_FOLDER(target)
  const { build } = await loadEsbuild(rootDir)
  const files = await sourcesIn(rootDir)
  const outputs = new Map(
    files
      .filter((source) => source === file || compiledTypes.has(extname(source)))
      .map((source) => [source, outputOf(rootDir, file, source)]),
  )
  const copied = files.filter((source) => !outputs.has(source))
  const outdir = `${target}.new`
  await rm(outdir, { recursive: true, force: true })
  try {
    await build({
      entryPoints: [...outputs].map(([source, out]) => ({ in: source, out: out.slice(0, -'.js'.length) })),
      absWorkingDir: rootDir,
      outdir,
      bundle: true,
      plugins: [separateFiles(rootDir, outputs)],
      platform: 'node',
      format: 'esm',
      target: 'node20',
      sourcemap: 'linked',
      logLevel: 'silent',
    })
  } catch (error) {
    await rm(outdir, { recursive: true, force: true })
    throw cliErrors.ZIN_BUILD_FAILED(problemsOf(error))
  }
  for (const source of copied) {
    const copy = join(outdir, relative(rootDir, source))
    await mkdir(dirname(copy), { recursive: true })
    await copyFile(source, copy)
  }
  const digests = await Promise.all(files.map(async (source) => [slashed(relative(rootDir, source)), (await digestOf(source)) ?? '']))
  const { name, text } = manifestFile({ sources: Object.fromEntries(digests) })
  await writeFile(join(outdir, name), text)
  await rm(target, { recursive: true, force: true })
  await rename(outdir, target)
  return { compiled: outputs.size, copied: copied.length }
}

/** The files of an app, without hidden folders, tests, and folders that are packages of their own. */
async function sourcesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const found = await Promise.all(
    entries.map(async (entry): Promise<readonly string[]> => {
      const path = join(folder, entry.name)
      if (entry.name.startsWith('.')) return []
      if (entry.isDirectory()) return skippedFolders.has(entry.name) || (await isPackage(path)) ? [] : sourcesIn(path)
      const wanted = compiledTypes.has(extname(path)) || copiedTypes.has(extname(path))
      return entry.isFile() && wanted && !skippedFiles.test(entry.name) ? [path] : []
    }),
  )
  return found.flat().sort()
}

async function isPackage(folder: string): Promise<boolean> {
  return (await stat(join(folder, 'package.json')).catch(() => undefined)) !== undefined
}

/** Path of a compiled file relative to the build. */
function outputOf(rootDir: string, config: string, source: string): string {
  return source === config ? builtConfig : relative(rootDir, source).replace(/\.[a-z]+$/, '.js')
}

/** Keeps imports of other files as imports, of what these are compiled to. JSON becomes part of the file that imports it. */
function separateFiles(rootDir: string, outputs: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'separate-files',
    setup(build) {
      build.onResolve({ filter: /.*/ }, async ({ importer, kind, path, pluginData, resolveDir, with: attributes }) => {
        if (kind === 'entry-point' || pluginData === outputs) return undefined
        const found = await build.resolve(path, { importer, kind, pluginData: outputs, resolveDir, with: attributes })
        const isLocal = found.errors.length === 0 && !found.external && isInside(rootDir, found.path)
        if (!isLocal) return /^\.{0,2}\//.test(path) && found.errors.length > 0 ? { errors: found.errors } : { path, external: true }
        if (extname(found.path) === '.json') return undefined
        const output = outputs.get(found.path) ?? relative(rootDir, found.path)
        const from = dirname(outputs.get(importer) ?? relative(rootDir, importer))
        const target = slashed(relative(from, output))
        return { path: target.startsWith('.') ? target : `./${target}`, external: true }
      })
    },
  }
}

function isInside(rootDir: string, file: string): boolean {
  const path = relative(rootDir, file)
  return !(path.startsWith('..') || resolve(path) === path || path.split(sep).includes('node_modules'))
}

function slashed(path: string): string {
  return path.replaceAll(sep, '/')
}

function problemsOf(error: unknown): readonly string[] {
  const { errors } = error as Partial<BuildFailure>
  if (errors === undefined) throw error
  return errors.map(({ location, text }) =>
    location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`,
  )
}

/** The part of esbuild that is used here. */
interface Esbuild {
  readonly build: typeof build
}

/** esbuild of the app, or the one that its tsx brings. */
async function loadEsbuild(rootDir: string): Promise<Esbuild> {
  for (const from of [join(rootDir, 'package.json'), import.meta.url]) {
    const { resolve: find } = createRequire(from)
    for (const locate of [() => find('esbuild'), () => createRequire(find('tsx')).resolve('esbuild')]) {
      const file = attempt(locate)
      if (file === undefined) continue
      const loaded = (await import(pathToFileURL(file).href)) as Esbuild & { readonly default?: Esbuild }
      return loaded.default ?? loaded
    }
  }
  throw hostErrors.ZIN_PACKAGE_MISSING(['esbuild'], 'npm install --save-dev esbuild')
}

function attempt(locate: () => string): string | undefined {
  try {
    return locate()
  } catch {
    return undefined
  }
}
