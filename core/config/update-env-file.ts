import { link, open, readdir, readFile, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ZinError } from '../errors.js'
import { tellWatcher } from '../util/watcher-channel.js'
import { parseEnvFile } from './env-file.js'
import { configErrors } from './errors.js'

type Values = Readonly<Record<string, string>>

/**
 * Changes values of a `.env` file in one step: a reader sees the old file or the new one, whenever the process dies.
 * The new file is readable by its owner only. A missing file counts as empty; other lines stay as they are. `.env.new`
 * is the lock between processes.
 * Throws ENV_FILE_BUSY (another process is changing the file) and ZIN_ENV_FILE (the file is malformed).
 *
 * @param change gets the present values and gives the ones to write; their names and values must hold no `'` and no line break.
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

/** Makes `lock` another name of one's own file, of which there can be one. */
async function hold(lock: string, own: string): Promise<void> {
  await link(own, lock).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? busy(lock) : error
  })
}

const STALE_MS = 30_000

/** Removes what a killed process left behind. One process at a time looks and removes, so that none removes what another has just made. */
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
  const found = await stat(lock).catch(() => undefined)
  if (found === undefined || Date.now() - found.mtimeMs <= STALE_MS) return false
  const maker = await makerOf(lock)
  // This process may have the id of one that was killed; what it does itself does not take so long.
  return maker === undefined || maker.pid === process.pid || !lives(maker.pid)
}

/** The other name of the file, which says whose it is. */
async function makerOf(lock: string): Promise<{ readonly path: string; readonly pid: number } | undefined> {
  const held = await stat(lock).catch(() => undefined)
  const prefix = `${basename(lock)}.`
  for (const name of await readdir(dirname(lock))) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN
    const path = join(dirname(lock), name)
    if (pid > 0 && held !== undefined && (await stat(path).catch(() => undefined))?.ino === held.ino) return { path, pid }
  }
  return undefined
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

/** Puts `name='value'` in the place of every assignment of the name, or at the end. */
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
  if (wrong.length > 0) throw new Error(`${file}: the line of ${wrong.join(', ')} cannot be changed safely; edit it by hand`)
}
