import { closeSync, fdatasync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'

/** A path in the folder with `/`, and the size of the file in bytes, or -1 for a folder. */
type Entry = readonly [path: string, size: number]

/** Files synced concurrently. */
const lanes = 16
/** Size of the pieces in which a folder is decompressed. The default of 16 KB takes three times the CPU time. */
const chunkSize = 2 ** 20
const syncData = promisify(fdatasync)

/**
 * Packs a folder into one compressed buffer: the length of the list, the list of entries as JSON, the content of the files. The
 * compression window is larger than a database, so that content shared by the databases of one cluster is stored once.
 */
export async function packFolder(folder: string): Promise<Buffer> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.map(
    (entry) =>
      [
        join(entry.parentPath, entry.name)
          .slice(folder.length + 1)
          .replaceAll('\\', '/'),
        entry.isFile(),
      ] as const,
  )
  const contents: Buffer[] = []
  const entries: Entry[] = []
  for (const [path, isFile] of paths.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const content = isFile ? await readFile(join(folder, path)) : undefined
    entries.push([path, content?.length ?? -1])
    if (content) contents.push(content)
  }
  const list = Buffer.from(JSON.stringify(entries))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(list.length)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 }
  return promisify(brotliCompress)(Buffer.concat([length, list, ...contents]), { params })
}

/** Creates the packed folder with permissions for its owner only. With `sync`, everything is on disk when this resolves. */
export async function unpackFolder(packed: Buffer, folder: string, { sync }: { readonly sync: boolean }): Promise<void> {
  const data = await promisify(brotliDecompress)(packed, { chunkSize })
  let at = 4 + data.readUInt32LE(0)
  const folders = [folder]
  const files: { readonly path: string; readonly content: Buffer }[] = []
  for (const [name, size] of JSON.parse(data.toString('utf8', 4, at)) as Entry[]) {
    const path = join(folder, name)
    if (size === -1) {
      folders.push(path)
      continue
    }
    files.push({ path, content: data.subarray(at, at + size) })
    at += size
  }
  for (const path of folders) mkdirSync(path, { mode: 0o700 })
  const lane = async (): Promise<void> => {
    for (let file = files.pop(); file !== undefined; file = files.pop()) await writeWhole(file.path, file.content, sync)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  if (sync) for (const path of [...folders, dirname(folder)]) await syncFolder(path)
}

/** Waits only for the disk: the files are small and many, and asynchronous calls would take several times as long as the writes. */
async function writeWhole(path: string, content: Buffer, sync: boolean): Promise<void> {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(file, content)
    if (sync) await syncData(file)
  } finally {
    closeSync(file)
  }
}

/** Syncs a folder, which puts the names of its files on disk. Windows cannot open a folder and does not need this. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
