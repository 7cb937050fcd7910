import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'

/** Folder of what `zin build` writes, in that of the app. */
export const buildFolder = 'build'
/** The configuration in it. */
export const builtConfig = 'zin.config.js'
const manifestName = 'zin-build.json'

/** What a build was made from. */
export interface BuildManifest {
  /** SHA-256 in hex of each source, by its path relative to the app, with `/`. */
  readonly sources: Readonly<Record<string, string>>
}

export interface Build {
  /** Absolute path of the built configuration. */
  readonly file: string
  /** A source that differs from the one that was built; undefined if the build is up to date, or is deployed without its sources. */
  readonly changed: string | undefined
}

/** Returns the build of an app; undefined if there is none, or it is incomplete. */
export async function readBuild(rootDir: string): Promise<Build | undefined> {
  const manifest = await readManifest(join(rootDir, buildFolder))
  if (manifest === undefined) return undefined
  const changed = await Promise.all(
    Object.entries(manifest.sources).map(async ([name, digest]) => {
      const found = await digestOf(join(rootDir, name))
      return found === undefined || found === digest ? undefined : name
    }),
  )
  return { file: join(rootDir, buildFolder, builtConfig), changed: changed.find((name) => name !== undefined) }
}

/** The manifest in a folder; undefined if `zin build` has not written it. */
export async function readManifest(folder: string): Promise<BuildManifest | undefined> {
  try {
    const { sources } = JSON.parse(await readFile(join(folder, manifestName), 'utf8')) as Partial<BuildManifest>
    return typeof sources === 'object' && sources !== null ? { sources } : undefined
  } catch {
    return undefined
  }
}

/** The file of a manifest and its content. */
export function manifestFile({ sources }: BuildManifest): { readonly name: string; readonly text: string } {
  return { name: manifestName, text: `${JSON.stringify({ sources }, null, 2)}\n` }
}

/** SHA-256 of a file in hex; undefined if it is not there. */
export async function digestOf(file: string): Promise<string | undefined> {
  const content = await readFile(file).catch(() => undefined)
  return content && createHash('sha256').update(content).digest('hex')
}

/**
 * The place of code that is named by its path in the sources: under `build/` if the app runs from its build. For plugins that load files of
 * the app. A path outside the app stays as it is. The extension may differ: `.ts` becomes `.js`.
 */
export function codePath({ codeDir, rootDir }: { readonly codeDir: string; readonly rootDir: string }, path: string): string {
  const full = resolve(codeDir, path)
  const inside = relative(rootDir, full)
  const isOutside = inside === '..' || inside.startsWith(`..${sep}`) || resolve(inside) === inside
  return isOutside || !relative(codeDir, full).startsWith('..') ? full : join(codeDir, inside)
}
