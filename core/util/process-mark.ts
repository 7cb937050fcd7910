import { readFile, readlink, stat } from 'node:fs/promises'
import { hostname } from 'node:os'

/** A process and the folder that it uses, as written into a file of that folder. */
export interface ProcessMark {
  readonly pid: number
  /** When the process started. A pid alone may have been reused: a container restarts with the same pids. Empty if unknown. */
  readonly started: string
  /** The boot id of the machine that `started` is relative to. Empty if the system does not report one. */
  readonly boot: string
  /** The name of the machine. Containers may have the same name. */
  readonly machine: string
  /** The PID namespace in which `pid` is counted: what the link /proc/self/ns/pid says. Empty if the system has none. */
  readonly namespace: string
  /**
   * Device and inode of the folder. They stay the same when the folder is moved while the process runs, and along every path to it; a copy
   * has others. Empty if unknown.
   */
  readonly folder: string
}

/**
 * `running`: the process runs and uses this folder. `elsewhere`: it is a process of another machine or container, which cannot be seen from
 * here. `gone`: it has ended, or the file was copied with its folder.
 */
export type MarkState = 'running' | 'elsewhere' | 'gone'

/** The PID namespace of a Linux machine itself; it has this number at every boot. */
const ofMachine = 'pid:[4026531836]'

/** Returns the mark of this process in a folder, which must exist. */
export async function markProcess(folder: string): Promise<ProcessMark> {
  return {
    pid: process.pid,
    started: (await processOf(process.pid))?.started ?? String(performance.timeOrigin),
    boot: await bootId(),
    machine: hostname(),
    namespace: await pidNamespace(),
    folder: await folderId(folder),
  }
}

/** Returns the mark in a parsed file; undefined if it contains none. */
export function parseProcessMark(value: unknown): ProcessMark | undefined {
  const {
    boot = '',
    folder = '',
    machine,
    namespace = '',
    pid,
    started = '',
  } = (value ?? {}) as Partial<Record<keyof ProcessMark, unknown>>
  if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0 || typeof machine !== 'string') return undefined
  return { pid, machine, started: String(started), boot: String(boot), namespace: String(namespace), folder: String(folder) }
}

/** Whether two marks are of one process, in whatever folder. */
export function isSameProcess(one: ProcessMark, other: ProcessMark): boolean {
  return (['pid', 'started', 'boot', 'machine', 'namespace'] as const).every((name) => one[name] === other[name])
}

/**
 * Checks whether the process of a mark that was read from a folder still uses it.
 *
 * @param me The mark of this process in that folder.
 */
export async function processMarkState(mark: ProcessMark, me: ProcessMark): Promise<MarkState> {
  if (mark.machine !== me.machine) return 'elsewhere'
  // Earlier versions wrote no namespace.
  if (mark.namespace !== '' && mark.namespace !== me.namespace) return 'elsewhere'
  if (mark.boot !== '' && mark.boot !== me.boot) {
    // A container of another machine may have the same name and the same number of its namespace.
    return mark.namespace === '' || mark.namespace === ofMachine ? 'gone' : 'elsewhere'
  }
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

/** Returns the PID namespace of this process; empty if the system has none. */
export async function pidNamespace(): Promise<string> {
  return readlink('/proc/self/ns/pid').catch(() => '')
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
