import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from 'koa'
import { httpErrors } from './errors.js'
import { type Part, splitMultipart } from './multipart.js'
import { parseQuery } from './query.js'

/** Maximum number of fields of a urlencoded form. */
const maxFields = 1000

/** An uploaded file, in `ctx.request.files` under the name of its part. */
export interface Upload {
  readonly filepath: string
  readonly newFilename: string
  /** File name sent by the client. Never use it as a path. */
  readonly originalFilename: string
  readonly mimetype: string
  /** In bytes. */
  readonly size: number
}

/**
 * Parses a urlencoded or multipart form from its bytes: texts by name, and lists of them for repeated names, as in a query string. Files are written to the system's temporary folder, readable by this user only,
 * and listed in `ctx.request.files`. They are removed when the request ends, or immediately if one cannot be written.
 */
export async function parseForm(ctx: Context, bytes: Buffer): Promise<unknown> {
  return ctx.is('multipart') ? parseMultipart(ctx, bytes) : parseUrlencoded(bytes.toString())
}

/** Reads names and values as a query string is read: brackets and points have no meaning, and a repeated name becomes a list. */
function parseUrlencoded(text: string): Record<string, string | string[]> {
  if (text.split('&', maxFields + 1).length > maxFields) throw httpErrors.INVALID_FORM(`it has more than ${maxFields} fields`)
  return parseQuery(text)
}

async function parseMultipart(ctx: Context, bytes: Buffer): Promise<unknown> {
  const [, quoted, token] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;",]{1,70}))/i.exec(ctx.req.headers['content-type'] ?? '') ?? []
  const boundary = quoted ?? token
  if (boundary === undefined) throw httpErrors.INVALID_FORM('its Content-Type has no boundary')
  const parts = splitMultipart(bytes, boundary)
  const files = parts.filter((part) => part.filename !== undefined)
  Object.assign(ctx.request, { files: byName(files, await store(ctx, files)) })
  const fields = parts.filter((part) => part.filename === undefined)
  return byName(
    fields,
    fields.map((field) => field.bytes.toString('utf8')),
  )
}

/** Groups values by the name of their part; several values of one name become a list. */
function byName<T>(parts: readonly Part[], values: readonly T[]): Record<string, T | T[]> {
  const lists = new Map<string, T[]>()
  for (const [index, { name }] of parts.entries()) {
    const list = lists.get(name)
    if (list) list.push(values[index] as T)
    else lists.set(name, [values[index] as T])
  }
  return Object.fromEntries([...lists].map(([name, list]) => [name, list.length === 1 ? (list[0] as T) : list]))
}

/** Writes files in sequence. Removes them when the request ends or one cannot be written. */
async function store(ctx: Context, files: readonly Part[]): Promise<readonly Upload[]> {
  const uploads: Upload[] = []
  const remove = async (): Promise<void> => {
    await Promise.allSettled(uploads.map(({ filepath }) => rm(filepath, { force: true })))
  }
  try {
    for (const { filename = '', type, bytes } of files) {
      const newFilename = randomBytes(13).toString('hex').slice(1)
      const filepath = join(tmpdir(), newFilename)
      uploads.push({ filepath, newFilename, originalFilename: filename, mimetype: type ?? 'text/plain', size: bytes.length })
      await writeFile(filepath, bytes, { flag: 'wx', mode: 0o600 })
    }
  } catch (error) {
    await remove()
    throw error
  }
  if (ctx.res.closed || ctx.res.destroyed) await remove()
  else ctx.res.once('close', () => void remove())
  return uploads
}
