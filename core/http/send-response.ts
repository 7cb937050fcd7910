import type { IncomingMessage, ServerResponse } from 'node:http'
import type Koa from 'koa'
import type { Context } from 'koa'

/** The part of Koa that turns a finished context into a response; Koa's types leave it out. */
interface Responding {
  handleRequest(ctx: Context, run: (ctx: Context) => Promise<void>): Promise<void>
}

/** Whether a body goes out as JSON: everything but nothing, text, bytes and streams. */
export function isJson(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === 'string') return false
  if (typeof body !== 'object' || Array.isArray(body) || Object.getPrototypeOf(body) === Object.prototype) return true
  const isOther = Buffer.isBuffer(body) || body instanceof Blob || body instanceof ReadableStream || body instanceof Response
  return !isOther && typeof (body as { pipe?: unknown }).pipe !== 'function'
}

/**
 * Ends a request whose context is complete. JSON, which is nearly every response, is written here; everything else goes
 * through Koa, whose general way costs a tenth of a small request. Throws when the body cannot be written as JSON.
 */
export function sendResponse(koa: Koa, ctx: Context): void {
  const { req, res, body } = ctx
  if (isJson(body) && isOrdinary(ctx, req, res)) {
    const text = JSON.stringify(body)
    const bytes = Buffer.byteLength(text)
    res.setHeader('Content-Length', bytes)
    // ASCII is the same in both, and Node copies Latin-1 where it would encode UTF-8 anew.
    res.end(text, bytes === text.length ? 'latin1' : 'utf8')
    return
  }
  const status = res.statusCode
  void (koa as unknown as Responding).handleRequest(ctx, async () => {
    // Koa begins with 404; the status of this context is settled.
    res.statusCode = status
  })
}

function isOrdinary(ctx: Context, req: IncomingMessage, res: ServerResponse): boolean {
  const status = res.statusCode
  return ctx.respond !== false && !res.headersSent && req.method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304
}
