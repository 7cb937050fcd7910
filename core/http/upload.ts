import { constants, copyFile, link, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { httpErrors } from './errors.js'
import type { JsonSchema } from './route-types.js'

/** An uploaded file, in `ctx.request.files` under the name of its field. */
export interface Upload {
  /** Path of the temporary file. It is deleted after the request, unless it is moved. Empty if the file went to a stream. */
  readonly filepath: string
  /** Name of the temporary file: random, without an extension. */
  readonly newFilename: string
  /** File name sent by the client. Never use it as a path. */
  readonly originalFilename: string
  /** Its media type. What the client says about it, unless a plugin looks into the file. */
  readonly mimetype: string
  /** In bytes. */
  readonly size: number
  /** The stream of the app to which it was written, if it was. */
  readonly stream?: Writable
  /**
   * Moves the file to a path, which is then the app's: it is not deleted. Also across file systems. A relative path starts at the folder of the
   * app (`host.app.rootDir`), whatever the working directory; its folder must exist. Rejects with EEXIST, and leaves both as they are, if
   * something exists there, and with UPLOAD_PATH_REFUSED (400) if a part of the path is `..`, as a name from a client may be. `path.join`
   * would take such a part out before it can be seen: write `moveTo(`images/${name}`)`.
   */
  moveTo(path: string): Promise<void>
}

/** Files that a field of a form accepts. */
export interface FileField {
  /** For OpenAPI. */
  readonly description?: string
  /** Number of files. Above 1, `ctx.request.files` has a list. Default 1. */
  readonly maxCount?: number
  /** True: a form may have none. Default: at least one is required. */
  readonly optional?: boolean
  /** Size of a file in bytes. Default: that of the reader of forms. */
  readonly maxSize?: number
  /** Media types, such as `image/png` or `image/*`. Default: those of the reader of forms. */
  readonly types?: readonly string[]
}

/** A file whose first bytes have arrived. */
export interface IncomingFile {
  /** Name of the field. */
  readonly field: string
  readonly originalFilename: string
  readonly mimetype: string
  /** Aborted if the form fails later on, also after this file was complete: undo then what the file caused. */
  readonly signal: AbortSignal
}

/**
 * Returns a stream for a file, which is destroyed with an error if the file fails; undefined for a temporary file.
 */
export type StreamFile = (file: IncomingFile) => Writable | undefined | Promise<Writable | undefined>

/** The fields of a form that are files, by name. */
export type FileFields = Readonly<Record<string, FileField>>

/** The type of `ctx.request.files`. */
export type FilesOf<F> = F extends FileFields
  ? { readonly [K in keyof F]: FileOf<F[K]> }
  : Readonly<Record<string, Upload | readonly Upload[] | undefined>>

type FileOf<F> = F extends { readonly maxCount: infer N }
  ? N extends 1
    ? OneOf<F>
    : F extends { readonly optional: true }
      ? readonly Upload[] | undefined
      : readonly Upload[]
  : OneOf<F>

type OneOf<F> = F extends { readonly optional: true } ? Upload | undefined : Upload

/** A file in a temporary folder. */
export class TemporaryFile implements Upload {
  readonly filepath: string
  readonly newFilename: string
  readonly originalFilename: string
  readonly mimetype: string
  readonly size: number
  readonly #rootDir: string
  #moved = false

  /** @param rootDir where relative paths start. */
  constructor({ filepath, newFilename, originalFilename, mimetype, size }: Omit<Upload, 'moveTo'>, rootDir: string) {
    this.#rootDir = rootDir
    this.filepath = filepath
    this.newFilename = newFilename
    this.originalFilename = originalFilename
    this.mimetype = mimetype
    this.size = size
  }

  async moveTo(given: string): Promise<void> {
    // Also with the separators of the other kind of system.
    if (given.includes('\0') || given.split(/[/\\]/).includes('..')) throw httpErrors.UPLOAD_PATH_REFUSED()
    const path = resolve(this.#rootDir, given)
    try {
      // A rename would replace what exists.
      await link(this.filepath, path)
    } catch (error) {
      if (!['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
      await copyFile(this.filepath, path, constants.COPYFILE_EXCL)
    }
    this.#moved = true
    await rm(this.filepath, { force: true })
  }

  /** Deletes it, unless it was moved. */
  async remove(): Promise<void> {
    if (!this.#moved) await rm(this.filepath, { force: true })
  }
}

/** The schema of a form in OpenAPI: fields and files. */
export function formSchema(body: JsonSchema | undefined, files: FileFields): JsonSchema {
  const { properties = {}, required = [], ...rest } = (body ?? {}) as { properties?: object; required?: readonly string[] }
  const shown = Object.entries(files).map(([name, { description, maxCount = 1, types = [] }]) => {
    const facts = { type: 'string', format: 'binary', ...(types.length > 0 && { contentMediaType: types.join(', ') }) }
    const about = description === undefined ? {} : { description }
    return [name, maxCount === 1 ? { ...facts, ...about } : { type: 'array', maxItems: maxCount, items: facts, ...about }] as const
  })
  const needed = Object.entries(files).filter(([, { optional }]) => optional !== true)
  const all = [...required, ...needed.map(([name]) => name)]
  return { ...rest, type: 'object', properties: { ...properties, ...Object.fromEntries(shown) }, ...(all.length > 0 && { required: all }) }
}
