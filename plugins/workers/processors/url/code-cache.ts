import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The index entry of an unpinned URL. */
export interface IndexEntry {
  readonly url: string
  /** SHA-256 of its code, in hex. */
  readonly sha256: string
  readonly etag: string | null
  /** Until when the code is used without a request, ms since 1970. */
  readonly expiresAt: number
}

export function sha256Of(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** Age from which a temporary file counts as the remains of an interrupted write, in ms. */
const abandonedMs = 3_600_000

/**
 * Stores code on disk by digest, with an index by URL. Files are renamed into place and verified when they are read, so processes may
 * share the folder, and a modified or incomplete file counts as missing.
 */
export class CodeCache {
  readonly #folder: string
  readonly #maxBytes: number

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
  }

  /** Returns the code with this digest; undefined if the file is missing or does not match. */
  async read(sha256: string): Promise<Buffer | undefined> {
    const file = this.#file(sha256)
    const code = await contentOf(file)
    // A corrupt file is not deleted, because another process may have just replaced it.
    if (code === undefined || sha256Of(code) !== sha256) return undefined
    // The modification time records the last use.
    const now = new Date()
    await utimes(file, now, now).catch(() => undefined)
    return code
  }

  /** Stores code unless it is stored already, and returns its file. Evicts the least recently used files if the cache is too large. */
  async keep(code: Buffer, sha256: string): Promise<string> {
    const file = this.#file(sha256)
    if ((await this.read(sha256)) === undefined) {
      await this.#write(file, code)
      await this.#evict(file)
    }
    return file
  }

  async entry(url: string): Promise<IndexEntry | undefined> {
    const text = await contentOf(this.#indexFile(url))
    try {
      const entry = JSON.parse(String(text)) as IndexEntry
      const fine = entry.url === url && /^[0-9a-f]{64}$/.test(entry.sha256) && Number.isFinite(entry.expiresAt)
      return fine && (entry.etag === null || typeof entry.etag === 'string') ? entry : undefined
    } catch {
      return undefined
    }
  }

  async setEntry(entry: IndexEntry): Promise<void> {
    await this.#write(this.#indexFile(entry.url), JSON.stringify(entry))
  }

  #file(sha256: string): string {
    return join(this.#folder, `${sha256}.mjs`)
  }

  #indexFile(url: string): string {
    return join(this.#folder, `${sha256Of(url)}.json`)
  }

  async #write(file: string, content: string | Buffer): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const draft = `${file}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`
    try {
      await writeFile(draft, content, { mode: 0o600, flag: 'wx' })
      await rename(draft, file)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  /** Other processes may evict at the same time: missing files are ignored, and an evicted file that is in use is restored on demand. */
  async #evict(except: string): Promise<void> {
    const files: { readonly file: string; readonly size: number; readonly used: number }[] = []
    for (const name of await readdir(this.#folder)) {
      const file = join(this.#folder, name)
      const found = await stat(file).catch(() => undefined)
      if (found === undefined) continue
      if (name.endsWith('.tmp') && Date.now() - found.mtimeMs > abandonedMs) await rm(file, { force: true })
      else files.push({ file, size: found.size, used: found.mtimeMs })
    }
    files.sort((a, b) => a.used - b.used)
    let total = files.reduce((sum, { size }) => sum + size, 0)
    for (const { file, size } of files) {
      if (total <= this.#maxBytes) break
      if (file === except) continue
      await rm(file, { force: true })
      total -= size
    }
  }
}

async function contentOf(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
