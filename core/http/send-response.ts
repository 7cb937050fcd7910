import type { IncomingMessage, ServerResponse } from 'node:http'
import type Koa from 'koa'
import type { Context } from 'koa'

/** The method of Koa that sends a finished context as a response; it is missing from Koa's types. */
interface Responding {
  handleRequest(ctx: Context, run: (ctx: Context) => Promise<void>): Promise<void>
}

/** Whether a body is sent as JSON: anything except nothing, text, bytes and streams. */
export function isJson(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === 'string') return false
  if (typeof body !== 'object' || Array.isArray(body) || Object.getPrototypeOf(body) === Object.prototype) return true
  const isOther = Buffer.isBuffer(body) || body instanceof Blob || body instanceof ReadableStream || body instanceof Response
  return !isOther && typeof (body as { pipe?: unknown }).pipe !== 'function'
}

/**
 * Sends the response of a finished context. JSON, which is nearly every response, is written here; everything else goes
 * through Koa, whose generic code costs a tenth of a small request. Throws if the body cannot be serialized as JSON.
 */
export function sendResponse(koa: Koa, ctx: Context): void {
  const { req, res, body } = ctx
  if (isJson(body) && isOrdinary(ctx, req, res)) {
    const text = JSON.stringify(body)
    const bytes = Buffer.byteLength(text)
    res.setHeader('Content-Length', bytes)
    // ASCII is identical in both; Node copies Latin-1 but would encode UTF-8 again.
    res.end(text, bytes === text.length ? 'latin1' : 'utf8')
    return
  }
  const status = res.statusCode
  void (koa as unknown as Responding).handleRequest(ctx, async () => {
    // Koa resets the status to 404; restore that of this context.
    res.statusCode = status
  })
}

function isOrdinary(ctx: Context, req: IncomingMessage, res: ServerResponse): boolean {
  const status = res.statusCode
  return ctx.respond !== false && !res.headersSent && req.method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304
}
