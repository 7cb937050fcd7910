import { existsSync } from 'node:fs'
import { cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import type { BackupPart } from 'zin'
import { opsErrors } from './errors.js'

/** What the hooks of a backup returned, by plugin. */
type Collected<T> = ReadonlyMap<string, T | Error>

export interface BackupParts {
  readonly dataDir: string
  /** Where to copy to: an absolute path. */
  readonly target: string
  /** Calls `collectBackup` here. */
  readonly collect: (folder: string) => Promise<Collected<BackupPart>>
  /** Calls `collectBackup` in the running app, which reads the folder from {@link takeRequest}. */
  readonly collectInApp: () => Promise<void>
  /** Calls `checkBackup`. */
  readonly check: (folder: string) => Promise<Collected<string>>
}

export interface Backup {
  readonly target: string
  /** What was checked, by plugin. */
  readonly checked: Readonly<Record<string, string>>
  /** Data outside of the data directory, and how to back it up. */
  readonly elsewhere: readonly string[]
}

/** Names in the data directory that belong to the running process. */
const volatile = /^(lock(\..*)?|run\.json|backup\.json|logs)$/
/** The copy of a SQLite file is written once more when it is checked. */
const spare = 1.2

/** Copies the data directory to a new folder, which appears only when it is complete and has been opened. */
export async function backUp({ check, collect, collectInApp, dataDir, target }: BackupParts): Promise<Backup> {
  await checkTarget(dataDir, target)
  const partial = `${target}.partial`
  await mkdir(partial, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw opsErrors.BACKUP_TARGET(
      error.code === 'EEXIST' ? `${partial} exists: another backup is running, or was ended; remove it` : error.message,
    )
  })
  try {
    const parts = await collect(partial)
    const here: BackupPart[] = []
    for (const [plugin, part] of parts) {
      if (!(part instanceof Error)) here.push(part)
      else if ('code' in part && part.code === 'ZIN_DATA_IN_USE') here.push(await askApp(dataDir, partial, collectInApp))
      else throw opsErrors.BACKUP_FAILED(plugin, part)
    }
    const covered = new Set(here.flatMap(({ entries }) => entries))
    const elsewhere = here.flatMap((part) => part.elsewhere ?? [])
    const left = (await readdir(dataDir).catch(() => [])).filter((name) => !covered.has(name) && !volatile.test(name))
    if ((await readdir(partial)).length + left.length === 0) throw opsErrors.BACKUP_NOTHING(dataDir, elsewhere.join(' '))
    for (const name of left) await cp(join(dataDir, name), join(partial, name), { recursive: true, errorOnExist: true, force: false })
    const checked: Record<string, string> = {}
    for (const [plugin, found] of await check(partial)) {
      if (found instanceof Error) throw opsErrors.BACKUP_FAILED(plugin, found)
      checked[plugin] = found
    }
    await checkNew(target)
    await rename(partial, target)
    return { target, checked, elsewhere }
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    throw error
  }
}

async function checkTarget(dataDir: string, target: string): Promise<void> {
  const parent = dirname(target)
  await checkNew(target)
  // Along symbolic links, a folder has several paths.
  const [data, copy] = [await realPathOf(dataDir), await realPathOf(target)]
  if (isWithin(data, copy)) throw opsErrors.BACKUP_TARGET(`${target} is in the data directory`)
  if (isWithin(copy, data)) throw opsErrors.BACKUP_TARGET(`${target} contains the data directory`)
  if (!existsSync(parent)) throw opsErrors.BACKUP_TARGET(`The folder ${parent} does not exist`)
  const [{ bavail, bsize }, needed] = [await statfs(parent), (await sizeOf(dataDir)) * spare]
  if (bavail * bsize < needed) throw opsErrors.BACKUP_NO_SPACE(parent, bavail * bsize, needed)
}

async function checkNew(target: string): Promise<void> {
  const found = await lstat(target).catch(() => undefined)
  if (found) throw opsErrors.BACKUP_TARGET(`${target} exists`)
}

/** Resolves the symbolic links in the part of an absolute path that exists. */
async function realPathOf(path: string): Promise<string> {
  const parent = dirname(path)
  return realpath(path).catch(async () => (parent === path ? path : join(await realPathOf(parent), basename(path))))
}

/** Whether an absolute path is the folder or is in it. */
function isWithin(folder: string, path: string): boolean {
  const inside = relative(folder, path)
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])) {
    // A file that is removed meanwhile needs no space.
    if (entry.isFile())
      bytes += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      )
  }
  return bytes
}

const requestIn = (dataDir: string): string => join(dataDir, 'backup.json')

/** Whoever may write to the data directory may choose where the app copies it to; a request over HTTP may not. */
async function askApp(dataDir: string, folder: string, collectInApp: () => Promise<void>): Promise<BackupPart> {
  await writeFile(requestIn(dataDir), JSON.stringify({ folder }), { mode: 0o600 })
  try {
    await collectInApp()
  } finally {
    await rm(requestIn(dataDir), { force: true })
  }
  return { entries: ['queue', 'queue.new'] }
}

/** The folder of the backup that a command on this machine has begun. Throws BACKUP_NOT_ASKED. */
export async function takeRequest(dataDir: string): Promise<string> {
  try {
    const { folder } = JSON.parse(await readFile(requestIn(dataDir), 'utf8')) as { readonly folder: string }
    return folder
  } catch {
    throw opsErrors.BACKUP_NOT_ASKED()
  }
}
