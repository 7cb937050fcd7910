import { ReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type Koa from 'koa'
import type { Context } from 'koa'
import { kindOf } from '../util/kind-of.js'
import { httpErrors } from './errors.js'

const destroyed = 'was destroyed before its end'
const readBefore = 'had been read before'

const ignore = (): void => undefined

/** Whether Koa sends a body as a stream of Node. */
export const isNodeStream = (body: unknown): body is NodeJS.ReadableStream =>
  typeof body === 'object' && body !== null && typeof (body as { pipe?: unknown }).pipe === 'function'

const isAsyncIterable = (body: object): body is AsyncIterable<unknown> =>
  typeof (body as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function'

/** Whether a body is bytes or a stream in any form; everything else that is not text is sent as JSON. */
const isBinary = (body: object): boolean =>
  ArrayBuffer.isView(body) || body instanceof ArrayBuffer || body instanceof Blob || body instanceof Response || isStreamed(body)

/** Whether a body is sent as JSON: anything except nothing, text, bytes and streams. */
export function isJson(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === 'string') return false
  if (typeof body !== 'object' || Array.isArray(body) || Object.getPrototypeOf(body) === Object.prototype) return true
  return !isBinary(body)
}

const isStreamed = (body: object): boolean => isNodeStream(body) || body instanceof ReadableStream || isAsyncIterable(body)

const isCurrent = (stream: NodeJS.ReadableStream): boolean => typeof stream.read === 'function' && 'destroy' in stream

/** Converts the bodies that Koa would send as JSON, bytes to a Buffer and async iterables to a stream, and old-style streams. */
function forKoa(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body)) return body
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (body instanceof ArrayBuffer) return Buffer.from(body)
  if (isNodeStream(body)) return isCurrent(body) ? body : new Readable().wrap(body)
  if (body instanceof ReadableStream || !isAsyncIterable(body)) return body
  return Readable.from(body)
}

/**
 * Makes every body that is set on a context of `koa` safe to hold: the error of a stream that fails before it is sent would end the
 * process. It is reported when the stream is sent. A stream that replaces another one (compression) fails with it.
 */
export function acceptStreams(koa: Koa): void {
  const { get, set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(koa.response), 'body') as Required<
    Pick<PropertyDescriptor, 'get' | 'set'>
  >
  Object.defineProperty(koa.response, 'body', {
    configurable: true,
    get,
    set(this: Koa.Response, given: unknown) {
      const earlier: unknown = get.call(this)
      const body = forKoa(given)
      // That of the earlier body, which Koa removes for streams of Node only.
      if (earlier != null && (body instanceof ReadableStream || body instanceof Response)) this.remove('Content-Length')
      set.call(this, body)
      // fetch has decoded the body, but keeps the headers of the coded one.
      if (body instanceof Response && body.url !== '' && body.headers.has('content-encoding')) {
        this.remove('Content-Encoding')
        this.remove('Content-Length')
      }
      if (!isNodeStream(body) || body === earlier) return
      body.on('error', ignore)
      if (isNodeStream(earlier)) follow(earlier, body as Readable)
    },
  })
}

/** A pipe passes data on, and neither errors nor a premature end: its target would stay open forever. */
function follow(source: NodeJS.ReadableStream, target: Readable): void {
  const { destroyed: isDestroyed, readableEnded, errored } = source as Readable
  // It emits nothing any more.
  if (readableEnded) target.destroy(httpErrors.STREAM_BROKEN(readBefore))
  else if (isDestroyed) target.destroy(reasonOf(source, errored ?? httpErrors.STREAM_BROKEN(destroyed)) as Error)
  source.on('error', (error: Error) => void target.destroy(reasonOf(source, error) as Error))
  source.on('close', () => {
    if ((source as Readable).readableEnded === false) target.destroy(httpErrors.STREAM_BROKEN(destroyed))
  })
}

/** Returns the stream that a body is sent from; undefined if it is none. Throws if a web stream is in use elsewhere. */
export function streamOf(body: unknown): Readable | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  if (body instanceof Blob) return Readable.from(body.stream())
  if (body instanceof ReadableStream) return Readable.from(body)
  if (body instanceof Response) return Readable.from(body.body ?? [])
  return isNodeStream(body) ? (body as Readable) : undefined
}

/**
 * Sends a stream as the response. `fail` is called once, with the reason, if the stream fails, is destroyed or does not have the length that
 * the headers declare: nothing has been sent if that happens before its first byte. A client that disconnects is no failure.
 */
export function sendStream({ req, res }: Context, source: Readable, fail: (reason: unknown) => void): void {
  const declared = res.hasHeader('content-length') ? Number(res.getHeader('content-length')) : undefined
  let sent = 0
  let isSettled = false

  const settle = (): boolean => {
    if (isSettled) return false
    isSettled = true
    source.off('data', take).off('end', end).off('close', onClose)
    res.off('drain', resume).off('close', settle)
    source.destroy()
    return true
  }
  const broken = (reason: unknown): void => {
    // A stream is destroyed when its client disconnects.
    const isLeft = res.destroyed || req.socket.destroyed
    if (!settle() || isLeft) return
    // What has been written leaves the process before the connection is cut.
    if (res.headersSent) setImmediate(fail, reason)
    else fail(reasonOf(source, reason))
  }
  const complete = (): void => {
    if (settle()) res.end()
  }
  const resume = (): void => void source.resume()
  const take = (chunk: unknown): void => {
    const isText = typeof chunk === 'string'
    if (!isText && !(chunk instanceof Uint8Array)) {
      broken(httpErrors.STREAM_BROKEN(`gave ${kindOf(chunk)} instead of text or bytes`))
      return
    }
    const bytes = isText ? Buffer.byteLength(chunk) : chunk.byteLength
    if (bytes === 0 || res.destroyed) return
    sent += bytes
    // The status of HEAD depends on the first byte, too.
    if (req.method === 'HEAD') complete()
    else if (declared !== undefined && sent > declared)
      broken(httpErrors.STREAM_BROKEN(`has more than the ${declared} bytes of its Content-Length`))
    else if (!res.write(chunk)) source.pause()
  }
  const end = (): void => {
    if (declared !== undefined && sent < declared && req.method !== 'HEAD')
      broken(httpErrors.STREAM_BROKEN(`ended after ${sent} of the ${declared} bytes of its Content-Length`))
    else complete()
  }
  const onClose = (): void => broken(source.errored ?? httpErrors.STREAM_BROKEN(destroyed))

  if (res.destroyed || res.writableEnded) {
    settle()
    return
  }
  // Writing to a client that has just disconnected is an error of the response.
  res.on('error', ignore).on('drain', resume).on('close', settle)
  source.on('error', broken).on('close', onClose).on('end', end).on('data', take)
  if (source.readableEnded) broken(httpErrors.STREAM_BROKEN(readBefore))
  else if (source.errored || source.destroyed) onClose()
  else resume()
}

/** Errors of the file system that mean: there is no such file. */
const missing: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EISDIR'])

/** Why a stream failed: 404 for one of a file that does not exist. */
const reasonOf = (source: unknown, error: unknown): unknown =>
  source instanceof ReadStream && missing.has((error as NodeJS.ErrnoException).code) ? httpErrors.FILE_NOT_FOUND(error as Error) : error
