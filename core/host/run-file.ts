import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../errors.js'
import type { Address } from '../util/address.js'
import { isSameProcess, markProcess, type ProcessMark, parseProcessMark, processMarkState } from '../util/process-mark.js'

const fileIn = (dataDir: string): string => join(dataDir, 'run.json')

/** Writes `<dataDir>/run.json`: the address of this process, for the CLI. */
export async function writeRunFile(dataDir: string, { host, port }: Address): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const content: Address & ProcessMark = { ...(await markProcess(dataDir)), host, port }
  await writeFile(fileIn(dataDir), `${JSON.stringify(content)}\n`, { mode: 0o600 })
}

/** Returns the warning for a file that cannot be written. The app runs without it, e.g. on a read-only file system. */
export function noRunFile(dataDir: string, error: unknown): string {
  return `cannot write ${fileIn(dataDir)}, which commands use to find the running app: ${messageOf(error)}; set ZIN_DATA_DIR to a folder that this user has permission to write to`
}

/** Returns the address of the app that runs in this folder; undefined if none does, and for a file that was copied with its folder. */
export async function runningAddress(dataDir: string): Promise<Address | undefined> {
  const found = await readRunFile(dataDir)
  if (found === undefined) return undefined
  const { address, mark } = found
  return (await processMarkState(mark, await markProcess(dataDir))) === 'running' ? address : undefined
}

/** Removes the file, unless another process has replaced it since or the folder has become read-only. */
export async function removeRunFile(dataDir: string): Promise<void> {
  const found = await readRunFile(dataDir)
  if (found && isSameProcess(found.mark, await markProcess(dataDir))) await rm(fileIn(dataDir), { force: true }).catch(() => undefined)
}

async function readRunFile(dataDir: string): Promise<{ readonly address: Address; readonly mark: ProcessMark } | undefined> {
  try {
    const value = JSON.parse(await readFile(fileIn(dataDir), 'utf8')) as Partial<Address>
    const mark = parseProcessMark(value)
    const { host, port } = value
    if (mark === undefined || typeof host !== 'string' || typeof port !== 'number' || !Number.isInteger(port)) return undefined
    return { address: { host, port }, mark }
  } catch {
    return undefined
  }
}
