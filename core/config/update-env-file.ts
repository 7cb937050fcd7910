import { link, open, readdir, readFile, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ZinError } from '../errors.js'
import { tellWatcher } from '../util/watcher-channel.js'
import { parseEnvFile } from './env-file.js'
import { configErrors } from './errors.js'

type Values = Readonly<Record<string, string>>

/**
 * Changes values of a `.env` file atomically: a reader sees either the old or the new file, even if the process dies.
 * The new file is readable by its owner only. A missing file counts as empty; other lines are kept. `.env.new`
 * is the lock between processes.
 * Throws ENV_FILE_BUSY if another process is changing the file, and ZIN_ENV_FILE if the file is malformed.
 *
 * @param change receives the current values and returns those to write; names and values must not contain `'` or line breaks.
 */
export async function updateEnvFile(
  path: string,
  change: (present: Readonly<Record<string, string | undefined>>) => Values,
): Promise<void> {
  // Keep a symbolic link and replace its target.
  const file = await realpath(path).catch(() => path)
  const lock = `${file}.new`
  const own = `${lock}.${process.pid}.${crypto.randomUUID()}`
  const handle = await open(own, 'wx', 0o600)
  try {
    await discardIfStale(lock)
    await hold(lock, own)
    try {
      await removeLeftovers(lock, own).catch(() => undefined)
      const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return ''
        throw error
      })
      const present = parseEnvFile(text, file)
      const next = change(present)
      const changed = Object.entries(next).reduce((all, [name, value]) => assign(all, name, value), text)
      assertOnlyChanged(present, next, parseEnvFile(changed, file), file)
      await handle.writeFile(changed)
      await handle.sync()
      tellWatcher({ zin: 'wrote', text: changed })
      await rename(own, file)
    } finally {
      await unlink(lock).catch(() => undefined)
    }
  } finally {
    await handle.close()
    await unlink(own).catch(() => undefined)
  }
}

/** Takes the lock by hard-linking it to this process's temporary file; a link fails if the name exists. */
async function hold(lock: string, own: string): Promise<void> {
  await link(own, lock).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? busy(lock) : error
  })
}

const STALE_MS = 30_000

/** Removes the lock of a killed process. One process at a time checks and removes, so that none removes a lock that another has just taken. */
async function discardIfStale(lock: string): Promise<void> {
  if (!(await isStale(lock))) return
  const guard = `${lock}.discard`
  const handle = await open(guard, 'wx').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? busy(guard) : error
  })
  try {
    await handle.close()
    if (!(await isStale(lock))) return
    const maker = await makerOf(lock)
    if (maker !== undefined) await unlink(maker.path)
    await unlink(lock)
  } finally {
    await unlink(guard)
  }
}

async function isStale(lock: string): Promise<boolean> {
  if (!(await isOld(lock))) return false
  const maker = await makerOf(lock)
  return maker === undefined || isGone(maker.pid)
}

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > STALE_MS
}

/** Whether the process that made an old file no longer exists. */
function isGone(pid: number): boolean {
  // This process may have the id of one that was killed; its own updates never take this long.
  return pid === process.pid || !lives(pid)
}

/** Finds the temporary file that the lock is linked to; its name contains the pid of the owner. */
async function makerOf(lock: string): Promise<{ readonly path: string; readonly pid: number } | undefined> {
  const held = await stat(lock).catch(() => undefined)
  if (held === undefined) return undefined
  for (const file of await temporaryFiles(lock)) if ((await stat(file.path).catch(() => undefined))?.ino === held.ino) return file
  return undefined
}

/** Lists the temporary files of all processes. */
async function temporaryFiles(lock: string): Promise<readonly { readonly path: string; readonly pid: number }[]> {
  const prefix = `${basename(lock)}.`
  const names = (await readdir(dirname(lock))).filter((name) => name.startsWith(prefix))
  return names
    .map((name) => ({ path: join(dirname(lock), name), pid: Number.parseInt(name.slice(prefix.length), 10) }))
    .filter(({ pid }) => pid > 0)
}

/** Removes the temporary files of killed processes, because they contain secrets. Call it while holding the lock. */
async function removeLeftovers(lock: string, own: string): Promise<void> {
  for (const { path, pid } of await temporaryFiles(lock)) {
    if (path !== own && (await isOld(path)) && isGone(pid)) await unlink(path).catch(() => undefined)
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function busy(file: string): ZinError {
  return configErrors.ENV_FILE_BUSY(file)
}

/** Replaces every assignment of the name with `name='value'`, or appends one. */
function assign(text: string, name: string, value: string): string {
  const line = `${name}='${value}'`
  const assignment = new RegExp(
    `^([ \\t]*(?:export[ \\t]+)?)${name}[ \\t]*=[ \\t]*(?:'[^']*'|"(?:[^"\\\\]|\\\\[\\s\\S])*"|)[^\\r\\n]*`,
    'gm',
  )
  if (assignment.test(text)) return text.replace(assignment, (_, lead: string) => lead + line)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  return `${text}${text === '' || text.endsWith('\n') ? '' : eol}${line}${eol}`
}

function assertOnlyChanged(
  before: Readonly<Record<string, string | undefined>>,
  next: Values,
  after: Readonly<Record<string, string | undefined>>,
  file: string,
): void {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const wrong = [...names].filter((name) => after[name] !== (next[name] ?? before[name]))
  if (wrong.length > 0) throw new Error(`${file}: the line of ${wrong.join(', ')} cannot be changed safely; edit it manually`)
}
