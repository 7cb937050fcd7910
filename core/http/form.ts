import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { messageOf } from '../errors.js'
import { httpErrors } from './errors.js'
import type { ReadForm } from './form-reader.js'
import { type Part, splitMultipart } from './multipart.js'
import { TemporaryFile } from './upload.js'

/** Maximum number of fields of a urlencoded form. */
const maxFields = 1000

/** Reads names and values as a query string is read: brackets and points have no meaning, and a repeated name becomes a list. */
const queryString = {
  parameterLimit: maxFields,
  arrayLimit: maxFields,
  throwOnLimitExceeded: true,
  allowDots: false,
  depth: 0,
  parseArrays: false,
  plainObjects: true,
  decoder: (text: string): string => new URLSearchParams(`_=${text}`).get('_') ?? '',
}

/** Parses a urlencoded form: texts by name, and lists of them for repeated names, as in a query string. */
export async function parseUrlencoded(ctx: Context, bytes: Buffer): Promise<unknown> {
  // Untyped: its types would add other `files` to every request.
  const { koaBody } = createRequire(import.meta.url)('koa-body') as {
    readonly koaBody: (options: object) => (ctx: object, next: () => Promise<unknown>) => Promise<unknown>
  }
  const parse = koaBody({ json: false, text: false, formLimit: bytes.length, queryString })
  const request: { body?: unknown } = {}
  const req = Object.assign(Readable.from([bytes]), {
    headers: { 'content-type': ctx.req.headers['content-type'], 'content-length': String(bytes.length) },
  })
  // koa-body reads only these four fields of a context.
  const shadow = { method: 'POST', req, request, is: (types: string[]) => ctx.is(types) }
  try {
    await parse(shadow, async () => undefined)
  } catch (error) {
    throw httpErrors.INVALID_FORM(messageOf(error))
  }
  return Object.fromEntries(Object.entries(request.body ?? {}))
}

/**
 * Reads a multipart form from its bytes, in the same way. Files are written to the system's temporary folder, readable by this user only;
 * those that were written are removed if one cannot be.
 */
export async function parseMultipart(ctx: Context, bytes: Buffer, rootDir: string): Promise<ReadForm> {
  const parts = splitMultipart(bytes, boundaryOf(ctx.req.headers['content-type']))
  const fields = parts.filter((part) => part.filename === undefined)
  const texts = fields.map((field) => field.bytes.toString('utf8'))
  const files = parts.filter((part) => part.filename !== undefined)
  const stored = await store(files, rootDir)
  return { fields: byName(fields, texts), files: byName(files, stored), remove: () => removeAll(stored) }
}

/** Returns the boundary in the content type of a multipart form. Throws 400 `INVALID_FORM`. */
function boundaryOf(type = ''): string {
  const [, quoted, token] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;",]{1,70}))/i.exec(type) ?? []
  const boundary = quoted ?? token
  if (boundary === undefined) throw httpErrors.INVALID_FORM('its Content-Type has no boundary')
  return boundary
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

/** Writes files in sequence. Removes them if one cannot be written. */
async function store(files: readonly Part[], rootDir: string): Promise<readonly TemporaryFile[]> {
  const stored: TemporaryFile[] = []
  try {
    for (const { filename = '', type, bytes } of files) {
      const newFilename = randomBytes(13).toString('hex').slice(1)
      const filepath = join(tmpdir(), newFilename)
      stored.push(
        new TemporaryFile(
          { filepath, newFilename, originalFilename: filename, mimetype: type ?? 'text/plain', size: bytes.length },
          rootDir,
        ),
      )
      await writeFile(filepath, bytes, { flag: 'wx', mode: 0o600 })
    }
  } catch (error) {
    await removeAll(stored)
    throw error
  }
  return stored
}

async function removeAll(files: readonly TemporaryFile[]): Promise<void> {
  await Promise.allSettled(files.map((file) => file.remove()))
}
