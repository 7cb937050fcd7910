import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../errors.js'
import type { Address } from '../util/address.js'

/** The address and pid of the running app, for the CLI. */
export interface RunFile extends Address {
  readonly pid: number
}

const fileIn = (dataDir: string): string => join(dataDir, 'run.json')

/** Writes `<dataDir>/run.json`. */
export async function writeRunFile(dataDir: string, address: Address): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const content: RunFile = { pid: process.pid, host: address.host, port: address.port }
  await writeFile(fileIn(dataDir), `${JSON.stringify(content)}\n`, { mode: 0o600 })
}

/** Returns the warning for a file that cannot be written. The app runs without it, e.g. on a read-only file system. */
export function noRunFile(dataDir: string, error: unknown): string {
  return `cannot write ${fileIn(dataDir)}, which commands use to find the running app: ${messageOf(error)}; set ZIN_DATA_DIR to a folder that this user has permission to write to`
}

/** Reads what the last started app wrote. Returns undefined if there is nothing valid. */
export async function readRunFile(dataDir: string): Promise<RunFile | undefined> {
  try {
    return JSON.parse(await readFile(fileIn(dataDir), 'utf8')) as RunFile
  } catch {
    return undefined
  }
}

/** Removes the file, unless another process has replaced it since or the folder has become read-only. */
export async function removeRunFile(dataDir: string): Promise<void> {
  const current = await readRunFile(dataDir)
  if (current?.pid === process.pid) await rm(fileIn(dataDir), { force: true }).catch(() => undefined)
}
