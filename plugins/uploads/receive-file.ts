import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type StreamFile, TemporaryFile, type Upload } from 'zin'
import { uploadsErrors } from './errors.js'
import { safeFileName } from './file-name.js'
import { type Detect, isAccepted, mediaTypeOf, sampleBytes } from './media-type.js'
import type { TemporaryFolder } from './temporary-folder.js'

/** A file part of a form. */
export interface FilePart {
  readonly field: string
  readonly filename: string
  readonly declared: string
  readonly content: Readable
}

export interface FileRules {
  /** Returns a stream of the app for the file. */
  readonly streamFile: StreamFile | undefined
  readonly maxSize: number
  readonly types: readonly string[]
  /** Counts the file. Throws if there are too many. */
  readonly admit: () => void
}

/** A received file, and how to undo it. */
export interface ReceivedFile {
  readonly upload: Upload
  remove(): Promise<void>
}

/**
 * Receives one file: checks its type by its first bytes before anything is written, then writes it within its size. Undefined if a browser
 * sent the field without a file. If it rejects, nothing is left of a temporary file, and a stream of the app is destroyed.
 */
export async function receiveFile(
  { content, declared, field, filename }: FilePart,
  { admit, maxSize, streamFile, types }: FileRules,
  {
    detect,
    folder,
    rootDir,
    signal,
  }: {
    readonly detect: Detect
    readonly folder: TemporaryFolder
    readonly rootDir: string
    readonly signal: AbortSignal
  },
): Promise<ReceivedFile | undefined> {
  const pieces = content[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const { sample, ended } = await readSample(pieces, field, maxSize)
  if (filename === '' && sample.length === 0) return undefined
  admit()
  const mimetype = await mediaTypeOf(sample, ended, declared, detect)
  if (!isAccepted(mimetype, types)) throw uploadsErrors.UPLOAD_TYPE_REFUSED(field, mimetype, types)
  signal.throwIfAborted()

  let size = 0
  async function* bounded(): AsyncGenerator<Buffer> {
    size = sample.length
    yield sample
    for (let next = ended ? undefined : await pieces.next(); next !== undefined && !next.done; next = await pieces.next()) {
      size += next.value.length
      if (size > maxSize) throw uploadsErrors.UPLOAD_TOO_LARGE(field, maxSize)
      yield next.value
    }
  }
  const originalFilename = safeFileName(filename)
  const own = await streamFile?.({ field, originalFilename, mimetype, signal })
  if (own !== undefined) {
    const stream: Writable = own
    await pipeline(bounded, stream, { signal })
    const moveTo = (): Promise<never> => Promise.reject(uploadsErrors.UPLOAD_STREAMED(originalFilename))
    return { upload: { filepath: '', newFilename: '', originalFilename, mimetype, size, stream, moveTo }, remove: async () => undefined }
  }
  const { filepath, newFilename, stream } = await folder.open()
  const made = (): TemporaryFile => new TemporaryFile({ filepath, newFilename, originalFilename, mimetype, size }, rootDir)
  try {
    await pipeline(bounded, stream, { signal })
  } catch (error) {
    await made().remove()
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? uploadsErrors.UPLOAD_NO_SPACE(error as Error) : error
  }
  const upload = made()
  return { upload, remove: () => upload.remove() }
}

async function readSample(
  pieces: AsyncIterator<Buffer>,
  field: string,
  maxSize: number,
): Promise<{ readonly sample: Buffer; readonly ended: boolean }> {
  let sample: Buffer = Buffer.alloc(0)
  let ended = false
  while (sample.length < sampleBytes && !ended) {
    const { done, value } = await pieces.next()
    if (done) ended = true
    else {
      // Kept in one: a list of the pieces of a client that sends byte by byte takes a hundred times their size.
      sample = sample.length === 0 ? value : Buffer.concat([sample, value])
      if (sample.length > maxSize) throw uploadsErrors.UPLOAD_TOO_LARGE(field, maxSize)
    }
  }
  return { sample, ended }
}
