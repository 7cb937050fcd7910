import { createWriteStream, type WriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { Readable, Writable } from 'node:stream'
import type { Context } from 'koa'
import { messageOf } from '../errors.js'
import { httpErrors } from './errors.js'

/**
 * Parses an urlencoded or multipart form by koa-body from bytes that were read already. Files land in the system's
 * temporary folder, readable by this user only, and in `ctx.request.files`; they are removed when the request ends, or at
 * once when the form is broken.
 */
export async function parseForm(ctx: Context, bytes: Buffer): Promise<unknown> {
  const { koaBody } = await import('koa-body')
  const limit = bytes.length
  const uploads = new Uploads()
  const parse = koaBody({
    multipart: true,
    json: false,
    text: false,
    formLimit: limit,
    formidable: {
      maxFileSize: limit,
      maxTotalFileSize: limit,
      maxFieldsSize: limit,
      allowEmptyFiles: true,
      minFileSize: 0,
      // Its own default is what the folder was when it was first loaded.
      uploadDir: tmpdir(),
      fileWriteStreamHandler: (file) => uploads.open((file as unknown as { readonly filepath: string }).filepath),
    },
  })
  const request: { body?: unknown; files?: unknown } = {}
  const req = Object.assign(Readable.from([bytes]), {
    headers: { 'content-type': ctx.req.headers['content-type'], 'content-length': String(limit) },
  })
  // koa-body reads these four and no more of a context.
  const shadow = { method: 'POST', req, request, is: (types: string[]) => ctx.is(types) } as unknown as Parameters<typeof parse>[0]
  try {
    await parse(shadow, async () => undefined)
  } catch (error) {
    await uploads.remove()
    throw httpErrors.INVALID_FORM(messageOf(error))
  }
  if (ctx.res.closed || ctx.res.destroyed) await uploads.remove()
  else ctx.res.once('close', () => void uploads.remove())
  Object.assign(ctx.request, { files: request.files })
  return Object.fromEntries(Object.entries(request.body ?? {}))
}

/** The files of one form. */
class Uploads {
  readonly #streams: WriteStream[] = []
  #removed = false

  open(path: string): Writable {
    // The parser opens the file of the part it is at even after it failed.
    if (this.#removed) return new Writable({ write: (_chunk, _encoding, done) => done() })
    const stream = createWriteStream(path, { flags: 'wx', mode: 0o600 })
    this.#streams.push(stream)
    return stream
  }

  /** Closes and removes every file, also one that is only being opened. */
  async remove(): Promise<void> {
    this.#removed = true
    await Promise.allSettled(
      this.#streams.map(async (stream) => {
        stream.destroy()
        if (!stream.closed) await new Promise<void>((resolve) => void stream.once('close', () => resolve()))
        await rm(stream.path, { force: true })
      }),
    )
  }
}
