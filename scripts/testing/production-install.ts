import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unpack, withTarball } from '../pack.js'

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** Folders of the packages that npm installs for dependencies, from the lock file of the checkout. */
function closureOf(dependencies: Readonly<Record<string, string>>): readonly string[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { readonly packages: Readonly<Record<string, Locked>> }
  const found = new Set<string>()
  const add = (parent: string, names: readonly string[]): void => {
    for (const name of names) {
      const key = find(packages, parent, name)
      if (key === undefined || found.has(key)) continue
      found.add(key)
      const { dependencies: own = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = packages[key] ?? {}
      const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
      add(key, [...Object.keys({ ...own, ...optionalDependencies }), ...peers])
    }
  }
  add('', Object.keys(dependencies))
  return [...found].filter((folder) => existsSync(folder))
}

function find(packages: Readonly<Record<string, unknown>>, parent: string, name: string): string | undefined {
  for (let folder = parent; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const key = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (key in packages) return key
    if (folder === '') return undefined
  }
}

/**
 * Development packages of an app that npm keeps in production, because a package that the app runs with, or Zin, lists them as peers: npm
 * omits neither with `--omit=dev`, even if the peer is optional.
 */
export function keptForDevelopment(manifest: Locked & { readonly devDependencies?: Readonly<Record<string, string>> }): readonly string[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { readonly packages: Readonly<Record<string, Locked>> }
  const { zin: _zin, ...own } = { ...manifest.dependencies, ...manifest.optionalDependencies }
  const zin = JSON.parse(readFileSync('package.json', 'utf8')) as Locked
  const needed = closureOf({ ...zin.dependencies, ...own })
  const peers = [zin, ...needed.map((folder) => packages[folder] ?? {})].flatMap(({ peerDependencies = {} }) =>
    Object.keys(peerDependencies),
  )
  const development = closureOf(manifest.devDependencies ?? {}).filter((folder) => !needed.includes(folder))
  return development.map((folder) => folder.replace('node_modules/', '')).filter((name) => peers.includes(name))
}

/** Bytes on disk without the packages inside. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .map((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? bytesOf(path) : Math.ceil(statSync(path).size / 4096) * 4096
    })
    .reduce((sum, bytes) => sum + bytes, 0)
}

export interface Installed {
  readonly cli: string
  readonly packages: number
  readonly mb: number
}

/** Unpacks the packed package into a folder. */
export async function unpackZin(folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true })
  await withTarball((tarball) => unpack(tarball, folder))
}

export interface InstallOptions {
  /** What the app depends on, in addition to Zin. */
  readonly dependencies?: Readonly<Record<string, string>>
  /** A folder of {@link unpackZin}, which is copied. Default: it is packed. */
  readonly unpacked?: string
}

/** Puts the packed package and what it depends on into `node_modules` of a folder, as `npm install --omit=dev` does; needs no registry. */
export async function installForProduction(app: string, { dependencies: more = {}, unpacked }: InstallOptions = {}): Promise<Installed> {
  const own = join(app, 'node_modules', 'zin')
  if (unpacked === undefined) await unpackZin(own)
  else cpSync(unpacked, own, { recursive: true })
  const { dependencies } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as Locked
  const { zin: _zin, ...others } = more
  const folders = closureOf({ ...dependencies, ...others })
  for (const folder of folders.filter((one) => one.lastIndexOf('node_modules/') === 0)) {
    const link = join(app, folder)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(realpathSync(folder), link, 'junction')
  }
  const bytes = [own, ...folders].map(bytesOf).reduce((sum, one) => sum + one, 0)
  return { cli: join(own, 'dist', 'cli.js'), packages: folders.length + 1, mb: bytes / 2 ** 20 }
}
