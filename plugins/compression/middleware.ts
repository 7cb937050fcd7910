import { Readable, Stream } from 'node:stream'
import { constants } from 'node:zlib'
import type { Context, Middleware } from 'koa'
import type koaCompressFactory from 'koa-compress'
import { jsonBody, type Route } from 'zin'
import type { Coding } from './options.js'

export interface CompressionMiddlewareOptions {
  readonly koaCompress: typeof koaCompressFactory
  readonly encodings: readonly Coding[]
  readonly minBytes: number
  routeOf(request: Context): Route | undefined
}

const jsonType = 'application/json; charset=utf-8'
const done = async (): Promise<void> => undefined

/** Quality 4 is as fast as gzip. A window of 256 KiB instead of 4 MiB bounds the memory of many responses at once. */
const brotli = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 }

/** What is written to a stream must reach the client, not wait for more: rows, progress. */
const flushed = {
  br: { flush: constants.BROTLI_OPERATION_FLUSH, params: brotli },
  gzip: { flush: constants.Z_SYNC_FLUSH },
  deflate: { flush: constants.Z_SYNC_FLUSH },
} as const

const unflushed = { br: { params: brotli }, gzip: {}, deflate: {} } as const

/** Returns the middleware that compresses responses with koa-compress, unless they must not be compressed. */
export function compressionMiddleware({ koaCompress, encodings, minBytes, routeOf }: CompressionMiddlewareOptions): Middleware {
  const settings = { threshold: minBytes, encodingPreference: [...encodings, 'identity'], wildcardAcceptEncoding: encodings[0] as string }
  const compress = koaCompress({ ...settings, br: false, gzip: false, deflate: false, zstd: false })
  const chosen = <T>(options: Readonly<Record<Coding, T>>) => Object.fromEntries(encodings.map((coding) => [coding, options[coding]]))
  const [ofTexts, ofStreams] = [chosen(unflushed), chosen(flushed)]

  const finish = async (request: Context): Promise<void> => {
    const compressed = routeOf(request)?.compress
    if (compressed === false) return
    // A small response stays as it is, and is sent in one piece.
    const json = jsonBody(request)
    if (json !== undefined && Buffer.byteLength(json) < minBytes) return
    if (!mayCompress(request, compressed === true)) return
    if (request.method === 'HEAD') {
      // A cache may update what it has of GET with these headers.
      if (json !== undefined || isCompressible(request.body)) request.vary('Accept-Encoding')
      return
    }
    if (json !== undefined) {
      if (!request.res.hasHeader('Content-Type')) request.set('Content-Type', jsonType)
      request.body = json
    } else if (request.body instanceof ReadableStream) request.body = Readable.fromWeb(request.body as never)
    if (!isCompressible(request.body)) return
    request.vary('Accept-Encoding')
    // koa-compress would fail for a client that accepts nothing, and compress for one that excludes all others by `*;q=0`.
    const coding = request.acceptsEncodings(...encodings, 'identity')
    if (coding === false || coding === 'identity') return
    request.compress = request.body instanceof Stream ? ofStreams : ofTexts
    await compress(request, done)
    if (request.res.hasHeader('Content-Encoding')) weaken(request)
  }

  return async (request, next) => {
    await next()
    await finish(request)
  }
}

/** Whether a response may be compressed: not what contains secrets, is sent in parts or event by event, or has a digest of its bytes. */
function mayCompress(request: Context, isForced: boolean): boolean {
  const { response, res, status } = request
  if (request.respond === false || res.headersSent || status === 206) return false
  if (response.is('text/event-stream')) return false
  // BREACH: the size of a compressed response tells what is in it, if a page of another site can choose a part of the request.
  if (res.hasHeader('Set-Cookie')) return false
  if (!isForced && /(^|[\s,])no-store\b/i.test(String(response.get('Cache-Control')))) return false
  return !['Content-Encoding', 'Content-Range', 'Content-Digest', 'Digest'].some((name) => res.hasHeader(name))
}

const isCompressible = (body: unknown): boolean => typeof body === 'string' || body instanceof Uint8Array || body instanceof Stream

/** The compressed bytes are others: a strong ETag would claim that they are the same, and ranges would be of them. */
function weaken(request: Context): void {
  const etag: unknown = request.response.get('ETag')
  if (typeof etag === 'string' && etag.startsWith('"')) request.set('ETag', `W/${etag}`)
  request.remove('Accept-Ranges')
}
