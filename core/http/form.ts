import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { messageOf } from '../errors.js'
import { httpErrors } from './errors.js'

/** What koa-body makes of uploads, as far as it is used here. */
interface File {
  readonly filepath: string
}
type Files = Readonly<Record<string, File | readonly File[] | undefined>>

/**
 * Parses an urlencoded or multipart form by koa-body from bytes that were read already. Files land in the system's
 * temporary folder and in `ctx.request.files`; they are removed when the request ends.
 */
export async function parseForm(ctx: Context, bytes: Buffer): Promise<unknown> {
  const { koaBody } = await import('koa-body')
  const limit = bytes.length
  const parse = koaBody({
    multipart: true,
    json: false,
    text: false,
    formLimit: limit,
    formidable: { maxFileSize: limit, maxTotalFileSize: limit, maxFieldsSize: limit, allowEmptyFiles: true, minFileSize: 0 },
  })
  const request: { body?: unknown; files?: Files } = {}
  const req = Object.assign(Readable.from([bytes]), {
    headers: { 'content-type': ctx.req.headers['content-type'], 'content-length': String(limit) },
  })
  // koa-body reads these four and no more of a context.
  const shadow = { method: 'POST', req, request, is: (types: string[]) => ctx.is(types) } as unknown as Parameters<typeof parse>[0]
  try {
    await parse(shadow, async () => undefined)
  } catch (error) {
    throw httpErrors.INVALID_FORM(messageOf(error))
  }
  if (request.files) removeAtEnd(ctx, request.files)
  Object.assign(ctx.request, { files: request.files })
  return Object.fromEntries(Object.entries(request.body ?? {}))
}

function removeAtEnd(ctx: Context, files: Files): void {
  const paths = Object.values(files).flatMap((entry) => [entry ?? []].flat().map((file) => file.filepath))
  const remove = (): void => void Promise.allSettled(paths.map((path) => rm(path, { force: true })))
  if (ctx.res.closed || ctx.res.destroyed) remove()
  else ctx.res.once('close', remove)
}
