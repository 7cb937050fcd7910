import type { ServerResponse } from 'node:http'
import type Koa from 'koa'
import type { Context } from 'koa'
import { headersOfHeld, heldBody, isBodiless, isUntouched, jsonType, noteLength, rawResponse, requestIdOf } from './context.js'
import { jsonText } from './json.js'
import { matchedRoute } from './matched-route.js'
import { isJson, sendStream, streamOf } from './send-stream.js'

/** The method of Koa that sends a finished context as a response; it is missing from Koa's types. */
interface Responding {
  handleRequest(ctx: Context, run: (ctx: Context) => Promise<void>): Promise<void>
}

/** Sends a body that the context holds, its headers in one piece; false if it holds none. Throws like {@link sendResponse}. */
export function sendHeld(ctx: Context): boolean {
  const body = heldBody(ctx)
  if (body === undefined || !isUntouched(ctx) || ctx.respond === false) return false
  const res = rawResponse(ctx)
  if (res.headersSent || isBodiless(res.statusCode)) return false
  const text = textOf(ctx, res.statusCode, body)
  const bytes = Buffer.byteLength(text)
  noteLength(ctx, bytes)
  const held = headersOfHeld(ctx)
  const headers = ['x-request-id', requestIdOf(ctx), 'Content-Type', jsonType, 'Content-Length', String(bytes)]
  res.writeHead(res.statusCode, held.length === 0 ? headers : [...headers, ...held])
  if (ctx.req.method === 'HEAD') res.end()
  else res.end(text, bytes === text.length ? 'latin1' : 'utf8')
  return true
}

/**
 * Returns the text that a body of JSON is sent as, for middleware that sends it in another form; undefined if the body is not JSON. Throws
 * if it cannot be serialized.
 *
 * @example
 * ctx.use(async (request, next) => {
 *   await next()
 *   const text = jsonBody(request)
 *   if (text !== undefined) request.set('x-length', String(Buffer.byteLength(text)))
 * })
 */
export function jsonBody(ctx: Context): string | undefined {
  const { body } = ctx
  return isJson(body) ? textOf(ctx, rawResponse(ctx).statusCode, body) : undefined
}

/**
 * Sends the response of a finished context. JSON, which is nearly every response, is written here; everything else except streams goes
 * through Koa, whose generic code costs a tenth of a small request. Throws if the body cannot be serialized as JSON, outside of production
 * also if JSON would empty or leave out a value in it.
 *
 * @param fail called with the reason if the body is a stream that fails.
 */
export function sendResponse(koa: Koa, ctx: Context, fail: (reason: unknown) => void): void {
  const { req, res, body } = ctx
  if (isJson(body) && isOrdinary(ctx, res)) {
    const text = textOf(ctx, res.statusCode, body)
    const bytes = Buffer.byteLength(text)
    // A message with both is invalid.
    if (!res.hasHeader('Transfer-Encoding')) res.setHeader('Content-Length', bytes)
    if (req.method === 'HEAD') return void res.end()
    // ASCII is identical in both; Node copies Latin-1 but would encode UTF-8 again.
    res.end(text, bytes === text.length ? 'latin1' : 'utf8')
    return
  }
  const status = res.statusCode
  const stream = ctx.respond === false || isBodiless(status) ? undefined : streamOf(body)
  if (stream !== undefined) {
    sendStream(ctx, stream, fail)
    return
  }
  void (koa as unknown as Responding).handleRequest(ctx, async () => {
    // Koa resets the status to 404; restore that of this context.
    res.statusCode = status
  })
}

function textOf(ctx: Context, status: number, body: unknown): string {
  return matchedRoute(ctx)?.serialize?.(status, body) ?? jsonText(body, ctx.app.env !== 'production')
}

function isOrdinary(ctx: Context, res: ServerResponse): boolean {
  return ctx.respond !== false && !res.headersSent && !isBodiless(res.statusCode)
}
