import { type FileHandle, link, open, readdir, readFile, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ZinError } from '../errors.js'
import { pidNamespace } from '../util/process-mark.js'
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
  const namespace = namespaceNumber(await pidNamespace())
  const own = `${lock}.${process.pid}.${namespace}.${crypto.randomUUID()}`
  const handle = await open(own, 'wx', 0o600)
  try {
    await discardIfStale(lock, namespace)
    await hold(lock, own)
    try {
      await removeLeftovers(lock, own, namespace).catch(() => undefined)
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
      await rename(own, file).catch((error: NodeJS.ErrnoException) => {
        // This process was stopped for so long that another one took it for killed.
        throw error.code === 'ENOENT' ? busy(lock) : error
      })
    } finally {
      if (await isLink(lock, handle)) await unlink(lock).catch(() => undefined)
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

/** Whether the lock is still that of this process: a link to its file. */
async function isLink(lock: string, handle: FileHandle): Promise<boolean> {
  const [held, own] = await Promise.all([stat(lock, { bigint: true }).catch(() => undefined), handle.stat({ bigint: true })])
  return held?.ino === own.ino && held.dev === own.dev
}

const STALE_MS = 30_000

/** Removes the lock of a killed process. One process at a time checks and removes, so that none removes a lock that another has just taken. */
async function discardIfStale(lock: string, namespace: string): Promise<void> {
  if (!(await isStale(lock, namespace))) return
  const guard = `${lock}.discard`
  const handle = await open(guard, 'wx').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? busy(guard) : error
  })
  try {
    await handle.close()
    if (!(await isStale(lock, namespace))) return
    const maker = await makerOf(lock)
    if (maker !== undefined) await unlink(maker.path)
    await unlink(lock)
  } finally {
    await unlink(guard)
  }
}

async function isStale(lock: string, namespace: string): Promise<boolean> {
  if (!(await isOld(lock))) return false
  const maker = await makerOf(lock)
  return maker === undefined || isGone(maker, namespace)
}

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > STALE_MS
}

/** A file that a process is writing; its name contains the pid and the number of its PID namespace. Earlier versions wrote no namespace. */
interface TemporaryFile {
  readonly path: string
  readonly pid: number
  readonly namespace: string
}

/** Whether the process that made an old file no longer exists. */
function isGone({ pid, namespace }: TemporaryFile, own: string): boolean {
  // The same pid is another process in another container, which cannot be seen: only the age of the file counts.
  if (namespace !== '' && namespace !== own) return true
  // This process may have the id of one that was killed; its own updates never take this long.
  return pid === process.pid || !lives(pid)
}

/** The number in `pid:[4026531836]`; 0 without one. */
function namespaceNumber(namespace: string): string {
  return /\d+/.exec(namespace)?.[0] ?? '0'
}

/** Finds the temporary file that the lock is linked to. */
async function makerOf(lock: string): Promise<TemporaryFile | undefined> {
  const held = await stat(lock).catch(() => undefined)
  if (held === undefined) return undefined
  for (const file of await temporaryFiles(lock)) if ((await stat(file.path).catch(() => undefined))?.ino === held.ino) return file
  return undefined
}

/** Lists the temporary files of all processes. */
async function temporaryFiles(lock: string): Promise<readonly TemporaryFile[]> {
  const prefix = `${basename(lock)}.`
  const names = (await readdir(dirname(lock))).filter((name) => name.startsWith(prefix))
  return names
    .map((name) => {
      const [pid = '', ...rest] = name.slice(prefix.length).split('.')
      return { path: join(dirname(lock), name), pid: Number.parseInt(pid, 10), namespace: rest.length > 1 ? `${rest[0]}` : '' }
    })
    .filter(({ pid }) => pid > 0)
}

/** Removes the temporary files of killed processes, because they contain secrets. Call it while holding the lock. */
async function removeLeftovers(lock: string, own: string, namespace: string): Promise<void> {
  for (const file of await temporaryFiles(lock)) {
    if (file.path !== own && (await isOld(file.path)) && isGone(file, namespace)) await unlink(file.path).catch(() => undefined)
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
