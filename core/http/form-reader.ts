import type { Context } from 'koa'
import type { BodyPieces } from './body-pieces.js'
import type { MaybePromise } from './chain.js'
import { rawResponse } from './context.js'
import type { FileFields, StreamFile, Upload } from './upload.js'

/** A multipart form that has been read. */
export interface ReadForm {
  /** Texts by name, and lists of them for repeated names, as in a query string. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>
  /** Files by name, and lists of them for repeated names. */
  readonly files: Readonly<Record<string, Upload | readonly Upload[]>>
  /** Called once, when the handler has ended and the response is sent: deletes what is left of the files. */
  remove(): Promise<void>
}

/** A multipart form that arrives. */
export interface IncomingForm {
  /** The body. */
  readonly pieces: BodyPieces
  /** The field `files` of the route. */
  readonly files: FileFields | undefined
  /** The field `streamFile` of the route. */
  readonly streamFile: StreamFile | undefined
  /** The route's own limit of the body in bytes; undefined if it sets none. */
  readonly bodyLimit: number | undefined
}

/** Reads multipart forms as they arrive, in place of the app, which reads them into memory. */
export interface FormReader {
  /**
   * Largest form that it reads for a route, in bytes, if the route does not say.
   * @param files the field `files` of the route.
   */
  limit(files: FileFields | undefined): number
  /** Called for a form without files, such as a urlencoded one. Throws if one is required. */
  withoutFiles(files: FileFields | undefined): void
  /** Reads a form. If it rejects, it leaves nothing behind. */
  read(ctx: Context, form: IncomingForm): Promise<ReadForm>
}

/** Prepares a request for a form that has no files. Throws if one is required. */
export function noFiles(ctx: Context, files: FileFields | undefined, forms: FormReader | undefined): void {
  Object.assign(ctx.request, { files: {} })
  forms?.withoutFiles(files)
}

/** Serves a request with a form; its files exist until the handler has ended and the response is sent. */
export async function serveForm(ctx: Context, form: ReadForm, serve: (fields: unknown) => MaybePromise): Promise<void> {
  const res = rawResponse(ctx)
  const sent = new Promise<void>((resolve) => {
    if (res.closed || res.destroyed) resolve()
    else res.once('close', resolve)
  })
  Object.assign(ctx.request, { files: form.files })
  try {
    await serve({ ...form.fields })
  } finally {
    void sent.then(() => form.remove())
  }
}
