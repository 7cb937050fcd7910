import { constants, type Stats } from 'node:fs'
import { access, readdir, readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { messageOf } from '../errors.js'
import type { PackageUses } from '../host/packages.js'
import type { AnyPluginSpec } from '../host/plugin.js'
import { freeBytes } from '../util/free-bytes.js'
import { satisfies } from '../util/satisfies.js'
import type { Finding } from '../util/stores.js'
import { zinPackage } from './package-root.js'

/** Free space below which a disk needs attention, in bytes. */
const leastFreeBytes = 256 * 2 ** 20
/** How many files of the data directory are looked at. */
const maxFiles = 1_000

interface Manifest {
  readonly version?: string
  readonly engines?: { readonly node?: string }
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Versions of Node and of Zin: that of the command, and that of the app if it has its own. */
export async function checkVersions(rootDir: string | undefined): Promise<readonly Finding[]> {
  const own = zinPackage()
  const { engines } = await readManifest(join(own.root, 'package.json'))
  const range = engines?.node ?? '*'
  const node = { check: 'Node', message: `version ${process.versions.node}` }
  const zin = { check: 'Zin', message: `version ${own.version}` }
  const ofApp = rootDir === undefined ? undefined : await installed('zin', rootDir)
  return [
    satisfies(process.versions.node, range) ? node : { ...node, fix: `Install a version of Node in the range ${range}` },
    ofApp?.version === undefined || ofApp.version === own.version
      ? zin
      : {
          check: 'Zin',
          message: `this command has version ${own.version}, and the app has ${ofApp.version}`,
          fix: 'Run "npx zin doctor" in the folder of the app',
        },
  ]
}

/** The packages of plugins that are installed, in versions that Zin works with. */
export async function packageVersions(
  specs: readonly AnyPluginSpec[],
  rootDir: string,
): Promise<readonly { readonly name: string; readonly version: string; readonly range: string }[]> {
  const { peerDependencies = {} } = await readManifest(join(zinPackage().root, 'package.json'))
  const names = [...new Set(specs.flatMap(({ packages = {} }) => Object.keys(packages as PackageUses)))].sort()
  const found = await Promise.all(
    names.map(async (name) => ({ name, version: (await installed(name, rootDir))?.version, range: peerDependencies[name] ?? '*' })),
  )
  return found.flatMap(({ name, version, range }) => (version === undefined ? [] : [{ name, version, range }]))
}

export async function checkPackages(specs: readonly AnyPluginSpec[], rootDir: string): Promise<readonly Finding[]> {
  return (await packageVersions(specs, rootDir)).map(({ name, version, range }) => {
    const finding = { check: `package ${name}`, message: `version ${version}` }
    const isRight = satisfies(version, range)
    return isRight
      ? finding
      : { ...finding, message: `${finding.message}; Zin works with ${range}`, fix: `Run: npm install "${name}@${range}"` }
  })
}

/** Permissions of `.env` and of the data directory, and the free space on its disk. */
export async function checkFiles(rootDir: string, dataDir: string): Promise<readonly Finding[]> {
  return [...(await checkPrivate(join(rootDir, '.env'))), ...(await checkDataDir(dataDir)), checkSpace(await existing(dataDir))]
}

/** `.env` has secrets. */
async function checkPrivate(file: string): Promise<readonly Finding[]> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined) return []
  const finding = { check: file }
  try {
    await access(file, constants.R_OK)
  } catch (error) {
    return [{ ...finding, message: `it cannot be read: ${messageOf(error)}`, fix: 'Give this user permission to read it' }]
  }
  const isOpen = process.platform !== 'win32' && (found.mode & 0o007) !== 0
  if (isOpen)
    return [{ ...finding, message: 'every user of this machine can read or change it, and it has secrets', fix: `Run: chmod 600 ${file}` }]
  return [{ ...finding, message: 'other users cannot read it' }]
}

type Folder = Pick<Stats, 'mode' | 'dev' | 'uid'>

/** Who can enter a folder. Of a volume that another user owns, such as an emptyDir of Kubernetes, who mounts it decides that. */
export function entranceOf(folder: Folder, above: Folder, user: number | undefined): 'open' | 'closed' | 'volume' {
  if (user === undefined || (folder.mode & 0o007) === 0) return 'closed'
  return folder.dev !== above.dev && folder.uid !== user ? 'volume' : 'open'
}

async function checkDataDir(dataDir: string): Promise<readonly Finding[]> {
  const check = `data directory ${dataDir}`
  const folder = await existing(dataDir)
  const fix = `Give this user permission to write to ${folder}, or set ZIN_DATA_DIR to another folder`
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return [{ check, message: `it cannot be ${folder === dataDir ? 'written' : 'created'}: ${messageOf(error)}`, fix }]
  }
  if (folder !== dataDir) return [{ check, message: 'it does not exist yet; the app creates it' }]
  const entrance = entranceOf(await stat(dataDir), await stat(dirname(dataDir)), process.getuid?.())
  if (entrance === 'open') return [{ check, message: 'other users of this machine can enter it', fix: `Run: chmod 700 ${dataDir}` }]
  const closed = await unwritable(dataDir)
  if (closed !== undefined) {
    return [
      {
        check,
        message: `this user has no permission to write ${relative(dataDir, closed)} in it`,
        fix: `Make this user the owner of all files in ${dataDir}, e.g. with chown -R`,
      },
    ]
  }
  return [
    { check, message: `it can be written, and ${entrance === 'closed' ? 'other users cannot enter it' : 'is a volume of another user'}` },
  ]
}

function checkSpace(folder: string): Finding {
  const free = freeBytes(folder)
  const check = `disk of ${folder}`
  if (free === Number.POSITIVE_INFINITY) return { check, message: 'the system does not tell its free space' }
  const message = `${Math.floor(free / 2 ** 20)} MB are free`
  return free >= leastFreeBytes
    ? { check, message }
    : { check, message, fix: `Free space: the data needs at least ${leastFreeBytes / 2 ** 20} MB` }
}

/** The folder itself, or the closest one above it that exists. */
async function existing(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined)
  return found !== undefined || dirname(folder) === folder ? folder : existing(dirname(folder))
}

/** The first file or folder that this process has no permission to write. */
async function unwritable(folder: string): Promise<string | undefined> {
  const folders = [folder]
  let seen = 0
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    const at = next
    const entries = await readdir(at, { withFileTypes: true }).catch(() => undefined)
    if (entries === undefined) return at
    for (const entry of entries) {
      seen += 1
      if (seen > maxFiles) return undefined
      const path = join(at, entry.name)
      // A file that was removed in the meantime is none.
      const { code } = await access(path, constants.W_OK).then(
        () => ({ code: '' }),
        (error: unknown) => error as NodeJS.ErrnoException,
      )
      if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') return path
      if (entry.isDirectory()) folders.push(path)
    }
  }
  return undefined
}

/** The package as the app, or else Zin, finds it. */
async function installed(name: string, rootDir: string): Promise<Manifest | undefined> {
  for (const from of [join(rootDir, 'package.json'), import.meta.url]) {
    for (const folder of createRequire(from).resolve.paths(name) ?? []) {
      const file = join(folder, name, 'package.json')
      const found = await readManifest(file).catch(() => undefined)
      if (found !== undefined) return found
    }
  }
  return undefined
}

async function readManifest(file: string): Promise<Manifest> {
  return JSON.parse(await readFile(file, 'utf8')) as Manifest
}
