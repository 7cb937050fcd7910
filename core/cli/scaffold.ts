import { statSync } from 'node:fs'
import { copyFile, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { cliErrors } from './errors.js'
import { ciWorkflow, editorConfig, gitIgnore } from './new-files.js'
import type { ZinPackage } from './package-root.js'

export const exampleNames = ['minimal', 'web-api', 'full', 'custom-plugin', 'edge', 'microservice'] as const
export type ExampleName = (typeof exampleNames)[number]

const skipped = new Set(['node_modules', '.zin', '.env', 'dist', 'build', 'package-lock.json'])

export interface ScaffoldOptions {
  /** Absolute path. Created if missing; must be empty except for `.git`. */
  readonly target: string
  readonly example: ExampleName
  readonly zin: ZinPackage
}

export interface Scaffolded {
  /** Whether keys were generated. */
  readonly hasKeys: boolean
  /** Names of the scripts in its package.json. */
  readonly scripts: readonly string[]
}

/** Creates an app from an example: its files, an adapted package.json, a CI workflow, and a private `.env` with its name and new keys. */
export async function scaffold({ target, example, zin }: ScaffoldOptions): Promise<Scaffolded> {
  const source = join(zin.root, 'examples', example)
  await refuseUsed(target)
  await mkdir(target, { recursive: true })
  await cp(source, target, { recursive: true, filter: (path) => !skipped.has(basename(path)) })
  const manifest = join(target, 'package.json')
  const tarball = await tarballOf(zin)
  if (tarball !== undefined) await copyFile(tarball, join(target, basename(tarball)))
  const text = manifestFor(await readFile(manifest, 'utf8'), basename(target), zin, tarball)
  await writeFile(manifest, text)
  // npm omits .gitignore from packages.
  await writeIfMissing(join(target, '.gitignore'), gitIgnore)
  const template = join(target, '.env.example')
  const given = await readText(template)
  const settings = withAppName(given ?? '', appName(basename(target)))
  if (given !== undefined) await writeFile(template, settings)
  const own = generateKeys(settings)
  await writeFile(join(target, '.env'), own, { mode: 0o600, flag: 'wx' })
  const scripts = Object.keys((JSON.parse(text) as { readonly scripts?: object }).scripts ?? {})
  await writeIfMissing(join(target, '.editorconfig'), editorConfig)
  await writeIfMissing(join(target, '.github', 'workflows', 'ci.yml'), ciWorkflow(scripts))
  return { hasKeys: own !== settings, scripts }
}

/** Replaces the value of `APP_NAME`, or inserts it as the first line. */
function withAppName(text: string, name: string): string {
  const line = /^APP_NAME=.*$/m
  return line.test(text) ? text.replace(line, `APP_NAME=${name}`) : `APP_NAME=${name}\n${text}`
}

/** Replaces `generate` in each line `NAME=generate` with 32 random bytes as `base64:…`. */
export function generateKeys(text: string): string {
  return text.replace(/^([A-Za-z_]\w*)=generate[ \t]*$/gm, (_line, name: string) => `${name}=${newKey()}`)
}

/** 32 random bytes as `base64:…`. */
export function newKey(): string {
  return `base64:${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`
}

/**
 * Adapts the example's package.json: the app's name, and a dependency on zin from the same source as this one.
 *
 * @param tarball the packed zin that is copied beside the package.json.
 */
export function manifestFor(text: string, folder: string, zin: ZinPackage, tarball?: string): string {
  const { optionalDependencies, ...manifest } = JSON.parse(text) as Record<string, unknown>
  const packed = tarball === undefined ? `^${zin.version}` : `file:./${basename(tarball)}`
  const dependencies = { ...(manifest.dependencies as object | undefined), zin: zin.installed ? packed : `file:${zin.root}` }
  const stand = needsStandIns() && optionalDependencies !== undefined ? { optionalDependencies } : {}
  return `${JSON.stringify({ ...manifest, name: packageName(folder), dependencies, ...stand }, null, 2)}\n`
}

/** The tarball from which npm installed zin, as its lock file in `node_modules` says. A registry may not have that version. */
async function tarballOf({ installed, root }: ZinPackage): Promise<string | undefined> {
  const folder = dirname(root)
  const lock = installed ? await readText(join(folder, '.package-lock.json')) : undefined
  if (lock === undefined) return undefined
  const { packages = {} } = JSON.parse(lock) as { readonly packages?: Readonly<Record<string, { readonly resolved?: string }>> }
  const { resolved = '' } = packages[`node_modules/${basename(root)}`] ?? {}
  const tarball = resolve(dirname(folder), resolved.replace(/^file:/, ''))
  return resolved.startsWith('file:') && statSync(tarball, { throwIfNoEntry: false })?.isFile() === true ? tarball : undefined
}

/** Whether this Node lacks what the optional dependencies of the examples stand in for: `node:sqlite`, complete since 22.16. */
function needsStandIns(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major < 22 || (major === 22 && minor < 16)
}

/** `My App` → `my-app`. */
export function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-._]+|[-._]+$/g, '')
  return name === '' ? 'zin-app' : name
}

/** `My_App 2.0` → `my-app-2-0`. */
export function appName(folder: string): string {
  return packageName(folder).replace(/[._-]+/g, '-')
}

async function refuseUsed(target: string): Promise<void> {
  let entries: readonly string[]
  try {
    entries = await readdir(target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    throw cliErrors.ZIN_TARGET_USED(target, code === 'ENOTDIR' ? 'is a file' : `cannot be read (${(error as Error).message})`)
  }
  if (entries.some((name) => name !== '.git')) throw cliErrors.ZIN_TARGET_USED(target, 'is not empty')
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function writeIfMissing(file: string, text: string): Promise<void> {
  if ((await readText(file)) !== undefined) return
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}
