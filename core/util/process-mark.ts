import { readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'

/** A process and the folder that it uses, as written into a file of that folder. */
export interface ProcessMark {
  readonly pid: number
  /** When the process started. A pid alone may have been reused: a container restarts with the same pids. Empty if unknown. */
  readonly started: string
  /** The boot id of the machine that `started` is relative to. Empty if the system does not report one. */
  readonly boot: string
  /** The name of the machine. */
  readonly machine: string
  /**
   * Device and inode of the folder. They stay the same when the folder is moved while the process runs, and along every path to it; a copy
   * has others. Empty if unknown.
   */
  readonly folder: string
}

/**
 * `running`: the process runs and uses this folder. `elsewhere`: it is a process of another machine, which cannot be seen from here. `gone`:
 * it has ended, or the file was copied with its folder.
 */
export type MarkState = 'running' | 'elsewhere' | 'gone'

/** Returns the mark of this process in a folder, which must exist. */
export async function markProcess(folder: string): Promise<ProcessMark> {
  return {
    pid: process.pid,
    started: (await processOf(process.pid))?.started ?? String(performance.timeOrigin),
    boot: await bootId(),
    machine: hostname(),
    folder: await folderId(folder),
  }
}

/** Returns the mark in a parsed file; undefined if it contains none. */
export function parseProcessMark(value: unknown): ProcessMark | undefined {
  const { boot = '', folder = '', machine, pid, started = '' } = (value ?? {}) as Partial<Record<keyof ProcessMark, unknown>>
  if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0 || typeof machine !== 'string') return undefined
  return { pid, machine, started: String(started), boot: String(boot), folder: String(folder) }
}

/**
 * Checks whether the process of a mark that was read from a folder still uses it.
 *
 * @param me The mark of this process in that folder.
 */
export async function processMarkState(mark: ProcessMark, me: ProcessMark): Promise<MarkState> {
  if (mark.machine !== me.machine) return 'elsewhere'
  if (mark.boot !== '' && mark.boot !== me.boot) return 'gone'
  if (mark.folder !== '' && me.folder !== '' && mark.folder !== me.folder) return 'gone'
  if (mark.pid === me.pid) return mark.started === me.started ? 'running' : 'gone'
  try {
    process.kill(mark.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return 'gone'
  }
  const found = await processOf(mark.pid)
  // A zombie: it has ended, but its parent has not read its exit code.
  if (found?.state === 'Z' || found?.state === 'X') return 'gone'
  return found === undefined || mark.started === '' || found.started === mark.started ? 'running' : 'gone'
}

async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim()
}

async function folderId(folder: string): Promise<string> {
  const found = await stat(folder, { bigint: true }).catch(() => undefined)
  return found === undefined || found.ino === 0n ? '' : `${found.dev}:${found.ino}`
}

/** Fields 3 and 22 of /proc/<pid>/stat; the name before them may hold spaces and parentheses. */
async function processOf(pid: number): Promise<{ readonly state: string; readonly started: string } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] && fields[19] ? { state: fields[0], started: fields[19] } : undefined
}
