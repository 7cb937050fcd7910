import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'

/** The temporary folder of this process, created with the first upload and removed at the end. */
export class TemporaryFolder {
  readonly #parent: string
  #path: Promise<string> | undefined

  constructor(parent = tmpdir()) {
    this.#parent = parent
  }

  /** Opens a new file with a random name, readable by this user only. */
  async open(): Promise<{ readonly filepath: string; readonly newFilename: string; readonly stream: Writable }> {
    this.#path ??= mkdtemp(join(this.#parent, 'zin-uploads-'))
    // A folder that could not be created is tried again.
    this.#path.catch(() => {
      this.#path = undefined
    })
    const newFilename = randomBytes(16).toString('hex')
    const filepath = join(await this.#path, newFilename)
    return { filepath, newFilename, stream: createWriteStream(filepath, { flags: 'wx', mode: 0o600 }) }
  }

  async remove(): Promise<void> {
    const path = await this.#path?.catch(() => undefined)
    this.#path = undefined
    if (path !== undefined) await rm(path, { recursive: true, force: true })
  }
}
