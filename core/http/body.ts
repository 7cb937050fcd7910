import { isUtf8 } from 'node:buffer'
import type { Context } from 'koa'
import { httpErrors } from './errors.js'
import { announcesBody } from './headers.js'
import { parseJson } from './json.js'
import { matchedRoute } from './matched-route.js'
import { readBytes } from './read-bytes.js'
import type { Route } from './route.js'

const captured = Symbol('zin.body')
const defaultLimit = 1024 * 1024

interface BodyState {
  [captured]?: Captured
}

/** The single read of a body. */
interface Captured {
  /** Maximum size in bytes. */
  readonly limit: number
  readonly reading: Promise<Buffer>
  /** Set when the read is complete, so that later callers need not wait. */
  bytes?: Buffer
}

/**
 * Reads the raw body of a request once and keeps it, so that a middleware that verifies a signature and the body parser
 * get the same bytes. `limit` in bytes defaults to the limit of the matched route.
 *
 * Throws a ZinError: 413 `PAYLOAD_TOO_LARGE`, 400 `BODY_FRAGMENTED` for too many tiny chunks, 400 `BODY_ABORTED` if the client
 * disconnected, 500 `BODY_CONSUMED` if something else read the body before.
 */
export function captureBody(ctx: Context, limit?: number): Promise<Buffer> {
  const state = ctx as BodyState
  const most = limit ?? limitOf(ctx)
  state[captured] ??= startReading(ctx, most)
  const { reading, limit: kept } = state[captured]
  return kept <= most ? reading : reading.then((bytes) => within(bytes, most))
}

/** Like {@link captureBody}, but synchronous if a middleware has already captured the body. */
function bodyBytes(ctx: Context): Buffer | Promise<Buffer> {
  const state = ctx as BodyState
  const bytes = state[captured]?.bytes
  return bytes === undefined ? captureBody(ctx) : within(bytes, limitOf(ctx))
}

function limitOf(ctx: Context): number {
  return matchedRoute(ctx)?.bodyLimit ?? defaultLimit
}

function within(bytes: Buffer, limit: number): Buffer {
  if (bytes.length > limit) throw httpErrors.PAYLOAD_TOO_LARGE(limit)
  return bytes
}

function startReading({ req, res }: Context, limit: number): Captured {
  if (!announcesBody(req)) return { limit, reading: Promise.resolve(Buffer.alloc(0)) }
  const state: Captured = {
    limit,
    reading: readBytes(req, res, limit, (bytes) => {
      state.bytes = bytes
    }),
  }
  return state
}

/**
 * Leaves the body unread if the route does not use it, so that it takes no memory. The handler may still capture it; otherwise
 * it is discarded when the response is sent.
 */
function leaveBody(ctx: Context): undefined {
  const limit = limitOf(ctx)
  if (Number(ctx.req.headers['content-length']) > limit) throw httpErrors.PAYLOAD_TOO_LARGE(limit)
  return undefined
}

/** Common spellings of the JSON content type, which need no parsing. */
const jsonTypes: ReadonlySet<unknown> = new Set(['application/json', 'application/json; charset=utf-8', 'application/json;charset=UTF-8'])

/**
 * Returns the parsed body of a request, or a promise for it; never a promise if the request announces no body. A body that the route does
 * not use is not read. An empty JSON body is `undefined`.
 */
export function readBody(ctx: Context, route: Route): unknown {
  if (!announcesBody(ctx.req)) return route.bodyType === 'raw' ? Buffer.alloc(0) : undefined
  const type = route.bodyType ?? (route.body === undefined ? 'none' : 'json')
  const encoding = ctx.req.headers['content-encoding']
  const refused = refusalOf(ctx, type, encoding)
  // A proxy may send an empty body as chunked, which shows only at its end. An empty body needs no type.
  if (refused !== undefined && ctx.req.headers['transfer-encoding'] === undefined) throw refused
  if (type === 'none' && (ctx as BodyState)[captured] === undefined) return leaveBody(ctx)
  const bytes = bodyBytes(ctx)
  return bytes instanceof Promise ? bytes.then((read) => parse(ctx, type, read, refused)) : parse(ctx, type, bytes, refused)
}

/** Why a body of this type and encoding is not read; undefined if it is. */
function refusalOf(ctx: Context, type: NonNullable<Route['bodyType']>, encoding: string | undefined): Error | undefined {
  if (type !== 'none' && encoding !== undefined && encoding.toLowerCase() !== 'identity') return httpErrors.UNSUPPORTED_CONTENT_ENCODING()
  if (type === 'json' && !isPlainJson(ctx) && !ctx.is(['json', '+json']))
    return httpErrors.UNSUPPORTED_MEDIA_TYPE('JSON (Content-Type: application/json)')
  if (type === 'form' && !ctx.is(['urlencoded', 'multipart'])) return httpErrors.UNSUPPORTED_MEDIA_TYPE('a form (urlencoded or multipart)')
  return undefined
}

function parse(ctx: Context, type: NonNullable<Route['bodyType']>, bytes: Buffer, refused: Error | undefined): unknown {
  if (type === 'none' || (bytes.length === 0 && type !== 'raw')) return undefined
  if (refused !== undefined) throw refused
  if (type === 'raw') return bytes
  if (type === 'form') return import('./form.js').then(({ parseForm }) => parseForm(ctx, bytes))
  const charset = isPlainJson(ctx) ? '' : ctx.request.charset.toLowerCase()
  if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw httpErrors.UNSUPPORTED_MEDIA_TYPE('JSON in UTF-8')
  if (!isUtf8(bytes)) throw httpErrors.INVALID_JSON('it is not UTF-8')
  return parseJson(bytes)
}

function isPlainJson(ctx: Context): boolean {
  return jsonTypes.has(ctx.req.headers['content-type'])
}
