import type { ServerResponse } from 'node:http'
import type Koa from 'koa'
import type { Context } from 'koa'
import { jsonText } from './json.js'
import { isBinary, sendStream, streamOf } from './send-stream.js'

/** The method of Koa that sends a finished context as a response; it is missing from Koa's types. */
interface Responding {
  handleRequest(ctx: Context, run: (ctx: Context) => Promise<void>): Promise<void>
}

/** Whether a body is sent as JSON: anything except nothing, text, bytes and streams. */
export function isJson(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === 'string') return false
  if (typeof body !== 'object' || Array.isArray(body) || Object.getPrototypeOf(body) === Object.prototype) return true
  return !isBinary(body)
}

/**
 * Sends the response of a finished context. JSON, which is nearly every response, is written here; everything else except streams goes
 * through Koa, whose generic code costs a tenth of a small request. Throws if the body cannot be serialized as JSON, outside of production
 * also if JSON would empty a value in it.
 *
 * @param fail called with the reason if the body is a stream that fails.
 */
export function sendResponse(koa: Koa, ctx: Context, fail: (reason: unknown) => void): void {
  const { req, res, body } = ctx
  if (isJson(body) && isOrdinary(ctx, res)) {
    const text = jsonText(body, koa.env !== 'production')
    const bytes = Buffer.byteLength(text)
    res.setHeader('Content-Length', bytes)
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

function isOrdinary(ctx: Context, res: ServerResponse): boolean {
  return ctx.respond !== false && !res.headersSent && !isBodiless(res.statusCode)
}

const isBodiless = (status: number): boolean => status === 204 || status === 205 || status === 304
