import { AsyncResource } from 'node:async_hooks'
import { isUtf8 } from 'node:buffer'
import type { Context } from 'koa'
import { bodyPieces, onePiece } from './body-pieces.js'
import type { MaybePromise, Step, Waiting } from './chain.js'
import { httpErrors } from './errors.js'
import { type FormReader, noFiles, serveForm } from './form-reader.js'
import { announcesBody } from './headers.js'
import { parseJson } from './json.js'
import { matchedRoute } from './matched-route.js'
import { BodyReading, type BodyWaiter } from './read-bytes.js'
import type { BodyType, Route } from './route.js'

const captured = Symbol('zin.body')
const defaultLimit = 1024 * 1024

interface BodyState {
  [captured]?: BodyReading
}

/**
 * Reads the raw body of a request once and keeps it, so that a middleware that verifies a signature and the body parser
 * get the same bytes. `limit` in bytes defaults to the limit of the matched route.
 *
 * Throws a ZinError: 413 `PAYLOAD_TOO_LARGE`, 400 `BODY_FRAGMENTED` for too many tiny chunks, 400 `BODY_ABORTED` if the client
 * disconnected, 500 `BODY_CONSUMED` if something else read a part of the body before, or made it text with `setEncoding`.
 */
export function captureBody(ctx: Context, limit?: number): Promise<Buffer> {
  const most = limit ?? limitOf(ctx)
  const reading = readOnce(ctx, most)
  return new Promise<Buffer>((read, fail) => reading.whenRead({ read, fail })).then((bytes) => within(bytes, most))
}

function readOnce(ctx: Context, limit: number): BodyReading {
  const state = ctx as BodyState
  state[captured] ??= new BodyReading(ctx.req, limit)
  return state[captured]
}

function limitOf(ctx: Context): number {
  return matchedRoute(ctx)?.bodyLimit ?? defaultLimit
}

function within(bytes: Buffer, limit: number): Buffer {
  if (bytes.length > limit) throw httpErrors.PAYLOAD_TOO_LARGE(limit)
  return bytes
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

/**
 * Decodes a request body of one content coding. Returns undefined as soon as there are more than `limit` bytes: the request is then refused
 * with 413 `PAYLOAD_TOO_LARGE`. Throws a ZinError with status 400 for bytes that are not of this coding.
 */
export type BodyDecoder = (bytes: Buffer, limit: number) => Promise<Buffer | undefined>

/** Decoders by content coding, in lower case. */
export type BodyDecoders = ReadonlyMap<string, BodyDecoder>

/** How bodies are read. */
export interface BodyReaders {
  /** Of compressed bodies; a coding without one is refused. What signatures cover stays the bytes as received. */
  readonly decoders: BodyDecoders
  /** Of multipart forms; undefined: they are read into memory. */
  readonly forms: FormReader | undefined
  /** Where relative paths of `moveTo` start. */
  readonly rootDir: string
}

/** Common spellings of the JSON content type, which need no parsing. */
const jsonTypes: ReadonlySet<unknown> = new Set(['application/json', 'application/json; charset=utf-8', 'application/json;charset=UTF-8'])

/** A step of a request with its parsed body. */
export type BodyUse = (ctx: Context, body: unknown) => MaybePromise

/** A step of a request with the bytes of its body. */
type BytesUse = (ctx: Context, bytes: Buffer) => MaybePromise

/**
 * Returns a step that runs `serve` with the parsed body: at once if the request announces none or it has been captured, otherwise when its
 * last piece arrives, without a promise. A body that the route does not use is not read. An empty JSON body is `undefined`.
 */
export function bodyStep(route: Route, readers: BodyReaders, serve: BodyUse): Step {
  const type: BodyType = route.bodyType ?? (route.body === undefined ? 'none' : 'json')
  const usePlain: BytesUse = (ctx, bytes) => serve(ctx, jsonOf(bytes))
  return (ctx) => {
    if (!announcesBody(ctx.req)) {
      if (type === 'form') noFiles(ctx, route.files, readers.forms)
      return serve(ctx, type === 'raw' ? Buffer.alloc(0) : undefined)
    }
    if (type === 'json' && isPlainJson(ctx) && ctx.req.headers['content-encoding'] === undefined) return useBytes(ctx, usePlain)
    return useAnyBody(ctx, type, route, readers, serve)
  }
}

/** Uses a body which may be of any type and coding. */
function useAnyBody(ctx: Context, type: BodyType, route: Route, { decoders, forms, rootDir }: BodyReaders, serve: BodyUse): MaybePromise {
  const coding = ctx.req.headers['content-encoding']
  const decode = type === 'none' || coding === undefined ? undefined : decoders.get(coding.trim().toLowerCase())
  const refused = refusalOf(ctx, type, decode === undefined ? decoders : undefined)
  // A proxy may send an empty body as chunked, which shows only at its end. An empty body needs no type.
  if (refused !== undefined && ctx.req.headers['transfer-encoding'] === undefined) throw refused
  const isCaptured = (ctx as BodyState)[captured] !== undefined
  if (type === 'none' && !isCaptured) return serve(ctx, leaveBody(ctx))
  const isMultipart = type === 'form' && refused === undefined && Boolean(ctx.is('multipart'))
  if (isMultipart && decode === undefined && forms !== undefined && !isCaptured) return streamForm(ctx, route, serve, forms)
  const take = (bytes: Buffer): MaybePromise => {
    if (isMultipart && bytes.length > 0) return bufferedForm(ctx, route, bytes, serve, forms, rootDir)
    if (type === 'form') noFiles(ctx, route.files, forms)
    const body = parse(ctx, type, bytes, refused)
    return body instanceof Promise ? body.then((read) => serve(ctx, read)) : serve(ctx, body)
  }
  return useBytes(ctx, (_ctx, bytes) => {
    if (decode === undefined || refused !== undefined || bytes.length === 0) return take(bytes)
    const limit = limitOf(ctx)
    return decode(bytes, limit).then((decoded) => {
      if (decoded === undefined) throw httpErrors.PAYLOAD_TOO_LARGE(limit)
      return take(within(decoded, limit))
    })
  })
}

function useBytes(ctx: Context, use: BytesUse): MaybePromise {
  const limit = limitOf(ctx)
  const reading = readOnce(ctx, limit)
  return reading.bytes === undefined ? new AfterBody(ctx, reading, use) : use(ctx, within(reading.bytes, limit))
}

/** The rest of a request whose body arrives: it runs in the async context of the request, not in that of its connection. */
class AfterBody extends AsyncResource implements BodyWaiter, Waiting {
  readonly #ctx: Context
  readonly #reading: BodyReading
  readonly #use: BytesUse
  #end: (() => void) | undefined = undefined
  #fail: ((reason: unknown) => void) | undefined = undefined

  constructor(ctx: Context, reading: BodyReading, use: BytesUse) {
    super('ZIN_BODY', manual)
    this.#ctx = ctx
    this.#reading = reading
    this.#use = use
  }

  // biome-ignore lint/suspicious/noThenProperty: it stands for a promise
  then(end: () => void, fail: (reason: unknown) => void): void {
    this.#end = end
    this.#fail = fail
    this.#reading.whenRead(this)
  }

  read(bytes: Buffer): void {
    this.runInAsyncScope(this.#run, this, bytes)
    this.emitDestroy()
  }

  fail(error: unknown): void {
    this.runInAsyncScope(this.#fail as (reason: unknown) => void, undefined, error)
    this.emitDestroy()
  }

  #run(bytes: Buffer): void {
    try {
      const rest = this.#use(this.#ctx, within(bytes, limitOf(this.#ctx)))
      if (rest)
        rest.then(
          () => this.#end?.(),
          (reason) => this.#fail?.(reason),
        )
      else this.#end?.()
    } catch (error) {
      this.#fail?.(error)
    }
  }
}

const manual = { requireManualDestroy: true }

/** Hands a multipart form to its reader as it arrives. */
async function streamForm(ctx: Context, route: Route, serve: BodyUse, forms: FormReader): Promise<void> {
  const { files, bodyLimit, streamFile } = route
  const pieces = bodyPieces(ctx.req, bodyLimit ?? forms.limit(files))
  try {
    await serveForm(ctx, await forms.read(ctx, { pieces, files, bodyLimit, streamFile }), (fields) => serve(ctx, fields))
  } finally {
    pieces.stop()
  }
}

/** Reads a multipart form that is in memory, because a middleware needed its bytes or there is no other reader. */
async function bufferedForm(
  ctx: Context,
  { files, bodyLimit, streamFile }: Route,
  bytes: Buffer,
  serve: BodyUse,
  forms: FormReader | undefined,
  rootDir: string,
): Promise<void> {
  const form =
    forms === undefined
      ? await import('./form.js').then(({ parseMultipart }) => parseMultipart(ctx, bytes, rootDir))
      : await forms.read(ctx, { pieces: onePiece(bytes), files, bodyLimit, streamFile })
  await serveForm(ctx, form, (fields) => serve(ctx, fields))
}

/** Why a body of this type and coding is not read; undefined if it is. `decoders` are those of other codings. */
function refusalOf(ctx: Context, type: BodyType, decoders: BodyDecoders | undefined): Error | undefined {
  const encoding = ctx.req.headers['content-encoding']
  if (type !== 'none' && decoders !== undefined && encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return httpErrors.UNSUPPORTED_CONTENT_ENCODING([...decoders.keys()])
  if (type === 'json' && !isPlainJson(ctx) && !ctx.is(['json', '+json']))
    return httpErrors.UNSUPPORTED_MEDIA_TYPE('JSON (Content-Type: application/json)')
  if (type === 'form' && !ctx.is(['urlencoded', 'multipart'])) return httpErrors.UNSUPPORTED_MEDIA_TYPE('a form (urlencoded or multipart)')
  return undefined
}

function parse(ctx: Context, type: BodyType, bytes: Buffer, refused: Error | undefined): unknown {
  if (type === 'none' || (bytes.length === 0 && type !== 'raw')) return undefined
  if (refused !== undefined) throw refused
  if (type === 'raw') return bytes
  if (type === 'form') return import('./form.js').then(({ parseUrlencoded }) => parseUrlencoded(ctx, bytes))
  const charset = isPlainJson(ctx) ? '' : ctx.request.charset.toLowerCase()
  if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw httpErrors.UNSUPPORTED_MEDIA_TYPE('JSON in UTF-8')
  return jsonOf(bytes)
}

function jsonOf(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw httpErrors.INVALID_JSON('it is not UTF-8')
  return parseJson(bytes)
}

function isPlainJson(ctx: Context): boolean {
  return jsonTypes.has(ctx.req.headers['content-type'])
}
