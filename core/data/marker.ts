import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

interface Marker {
  readonly state: 'importing' | 'done'
  /** ms since 1970. */
  readonly at: number
}

const fileIn = (dataDir: string): string => join(dataDir, 'import.json')

/** Notes that an import is under way, or that it is done and everything else in the data directory is older. */
export async function noteImport(dataDir: string, state: Marker['state']): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const marker: Marker = { state, at: Date.now() }
  const file = fileIn(dataDir)
  await writeFile(`${file}.new`, `${JSON.stringify(marker)}\n`, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
}

/** Whether an import into the data directory was begun and is not done. */
export async function isImporting(dataDir: string): Promise<boolean> {
  return existsSync(fileIn(dataDir)) && (await read(dataDir))?.state !== 'done'
}

/**
 * Whether a file in the data directory belongs to a store that this app does not use: it exists, and no import that was done since says that its
 * content was moved. For the warning at boot of a plugin whose data is on a server.
 *
 * @param files names in the data directory, of files of which every use of the store changes one. Without the first one there is no store.
 */
export async function isUnusedData(dataDir: string, ...files: readonly [string, ...string[]]): Promise<boolean> {
  const found = await Promise.all(files.map((file) => stat(join(dataDir, file)).catch(() => undefined)))
  if (found[0] === undefined) return false
  const marker = await read(dataDir)
  return marker?.state !== 'done' || found.some((one) => one !== undefined && one.mtimeMs > marker.at)
}

async function read(dataDir: string): Promise<Marker | undefined> {
  try {
    return JSON.parse(await readFile(fileIn(dataDir), 'utf8')) as Marker
  } catch {
    return undefined
  }
}
