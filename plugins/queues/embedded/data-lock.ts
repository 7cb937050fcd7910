import { link, mkdir, readFile, rename, unlink, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { queueErrors } from '../errors.js'

interface Holder {
  readonly pid: number
  /** When the process started. A pid alone may have been reused: a container restarts with the same pids. */
  readonly started: string
  /** The boot id of the machine that `started` is relative to; empty if the system does not report one. */
  readonly boot: string
  readonly host: string
}

export interface DataLock {
  release(): Promise<void>
}

/** How often the holder updates its file, and after what time without updates the lock of another machine is stale, in ms. */
const touchEveryMs = 5000
const abandonedAfterMs = 20_000

/**
 * Creates `<dir>/lock`. Throws ZIN_DATA_IN_USE when a running process holds it; reclaims the lock of a killed process.
 * PGlite itself does not prevent two processes from overwriting each other.
 */
export async function lockData(dir: string): Promise<DataLock> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const file = join(dir, 'lock')
  const own = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`
  const me: Holder = {
    pid: process.pid,
    started: (await processOf(process.pid))?.started ?? String(performance.timeOrigin),
    boot: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim(),
    host: hostname(),
  }
  const content = `${JSON.stringify(me)}\n`
  await writeFile(own, content, { flag: 'wx', mode: 0o600 })
  try {
    await claim(file, own, dir, me)
  } finally {
    await unlink(own).catch(() => undefined)
  }
  const timer = setInterval(() => {
    const now = new Date()
    utimes(file, now, now).catch(() => undefined)
  }, touchEveryMs)
  timer.unref()
  let released = false
  return {
    async release() {
      if (released) return
      released = true
      clearInterval(timer)
      if ((await readFile(file, 'utf8').catch(() => '')) === content) await unlink(file).catch(() => undefined)
    },
  }
}

/** A hard link is created atomically, so no process reads a half-written lock. */
async function claim(file: string, own: string, dir: string, me: Holder): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    if (await linked(own, file)) return
    const found = await readFile(file, 'utf8').catch(() => undefined)
    if (found === undefined) continue
    const holder = parseHolder(found)
    if (holder && (await lives(holder, me, file))) throw queueErrors.ZIN_DATA_IN_USE(dir, nameOf(holder))
    // When several processes find a stale file, one of them moves it away. A process that moved a new file instead restores it.
    const aside = `${own}.old`
    await rename(file, aside).catch(() => undefined)
    if ((await readFile(aside, 'utf8').catch(() => found)) !== found) await linked(aside, file)
    await unlink(aside).catch(() => undefined)
  }
  throw queueErrors.ZIN_DATA_IN_USE(dir, 'another process that is starting')
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function lives(holder: Holder, me: Holder, file: string): Promise<boolean> {
  if (holder.host !== me.host) {
    const { stat } = await import('node:fs/promises')
    const touched = await stat(file).then(
      (stats) => stats.mtimeMs,
      () => 0,
    )
    return Date.now() - touched < abandonedAfterMs
  }
  if (holder.boot !== '' && holder.boot !== me.boot) return false
  if (holder.pid === me.pid) return holder.started === me.started
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const found = await processOf(holder.pid)
  // A zombie: it has ended, but its parent has not read its exit code.
  if (found?.state === 'Z' || found?.state === 'X') return false
  return found === undefined || holder.started === '' || found.started === holder.started
}

/** Fields 3 and 22 of /proc/<pid>/stat; the name before them may hold spaces and parentheses. */
async function processOf(pid: number): Promise<{ readonly state: string; readonly started: string } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] && fields[19] ? { state: fields[0], started: fields[19] } : undefined
}

function parseHolder(text: string): Holder | undefined {
  try {
    const value = JSON.parse(text) as Partial<Holder>
    return typeof value.pid === 'number' && value.pid > 0
      ? { pid: value.pid, started: String(value.started ?? ''), boot: String(value.boot ?? ''), host: String(value.host ?? '') }
      : undefined
  } catch {
    return undefined
  }
}

function nameOf({ pid, host }: Holder): string {
  if (host !== hostname()) return `process ${pid} on machine ${host}`
  return pid === process.pid ? `process ${pid} (this process)` : `process ${pid}`
}
