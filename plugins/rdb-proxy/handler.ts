import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { captureBody, type Logger, messageOf, onDisconnect, requestIdOf, ZinError } from 'zin'
import { errorBody, errorHeaders, parseJson, WireError, type WireErrorCode, wireErrors } from 'zin/plugins/sql-wire'
import { sha256Hex } from 'zin/signing'
import type { Callers } from './auth/caller.js'
import type { ProxyKey } from './auth/keys.js'
import type { Rates } from './auth/rates.js'
import type { Call } from './contract.js'
import type { RowStream } from './stream.js'

export interface HandlerParts {
  readonly callers: Callers
  readonly rates: Rates
  readonly maxBodyBytes: number
  readonly log: Logger
}

export const NDJSON = 'application/x-ndjson'

/** The work of a route: turns a body into a result or a stream of rows. */
export type Work = (call: Call, body: unknown, ctx: Context) => Promise<object | RowStream>

/** Serves one request: authenticates it, parses the body, runs the work, and responds in the wire format. */
export async function serve(ctx: Context, parts: HandlerParts, work: Work): Promise<object | undefined> {
  const began = performance.now()
  const requestId = requestIdOf(ctx)
  ctx.set('Cache-Control', 'no-store')
  let leave: () => void = () => undefined
  let kept = false
  try {
    checkHead(ctx)
    const body = (): Promise<Buffer> => captureBody(ctx, parts.maxBodyBytes)
    const admit = (key: ProxyKey): void => {
      leave = parts.rates.enter(key)
    }
    const { key, bytes } = await parts.callers.identify(ctx, body, admit)
    const call: Call = {
      key,
      requestId,
      client: (onGone) => onDisconnect(ctx, onGone),
      hash: () => sha256Hex(`${ctx.path}\n${bytes.toString('utf8')}`),
      onFault: (error) => void logFault(parts.log, requestId, error),
    }
    const result = await work(call, parseJson(textOf(bytes)), ctx)
    if (!('text' in result)) return timed(result, performance.now() - began)
    kept = true
    send(ctx, result, leave)
    return undefined
  } catch (error) {
    return refuse(ctx, parts.log, requestId, error)
  } finally {
    if (!kept) leave()
  }
}

/** Refuses requests sent by browsers, and unsupported content types, before the body is read. */
function checkHead(ctx: Context): void {
  const { origin, 'sec-fetch-site': site, 'content-type': type = '', 'content-encoding': encoding } = ctx.req.headers
  if (origin !== undefined || (site !== undefined && site !== 'none'))
    throw new WireError('MISDIRECTED', 'This proxy is for servers, not for browsers')
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new WireError('UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed; send it without Content-Encoding')
  if (type !== 'application/json' && !/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type))
    throw new WireError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON in UTF-8 (Content-Type: application/json)')
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new WireError('INVALID_JSON', 'The body is not UTF-8')
  return bytes.toString('utf8')
}

/** Adds the duration of the request. Changes the result in place: it belongs to this response alone. */
function timed(result: object, durationMs: number): object {
  const timedResult = result as { meta?: { durationMs?: number } }
  timedResult.meta ??= {}
  timedResult.meta.durationMs = Math.round(durationMs * 1000) / 1000
  return timedResult
}

function send(ctx: Context, { text, close, stalled }: RowStream, leave: () => void): void {
  ctx.type = NDJSON
  ctx.body = Readable.from(text, { highWaterMark: 1 })
  stalled.addEventListener('abort', () => ctx.res.destroy(), { once: true })
  // A generator that was never started does not run its `finally`.
  ctx.res.once('close', () => {
    close()
    leave()
  })
}

/** Logs errors of the server side. Returns the error in the form of the wire. */
function logFault(log: Logger, requestId: string, thrown: unknown): WireError {
  const error = wireErrorFor(thrown)
  if (error.code === 'INTERNAL') log.error({ err: thrown, requestId }, 'proxy request failed')
  else if (error.status >= 500)
    log.warn({ requestId, code: error.code, cause: error.cause === undefined ? undefined : messageOf(error.cause) }, error.message)
  return error
}

function refuse(ctx: Context, log: Logger, requestId: string, thrown: unknown): object {
  const error = logFault(log, requestId, thrown)
  ctx.status = error.status
  ctx.set(errorHeaders(error))
  return errorBody(error, requestId)
}

const sameCodes: ReadonlySet<string> = new Set(Object.keys(wireErrors))
const otherCodes: Readonly<Record<string, WireErrorCode>> = {
  UNSUPPORTED_CONTENT_ENCODING: 'UNSUPPORTED_MEDIA_TYPE',
  ZIN_DEADLINE: 'AUTH_STORE_UNAVAILABLE',
}
const byStatus: Readonly<Record<number, WireErrorCode>> = {
  400: 'VALIDATION_ERROR',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  421: 'MISDIRECTED',
  429: 'RATE_LIMITED',
  503: 'DB_UNAVAILABLE',
}

/** Converts any error to a WireError. Unexpected errors reveal nothing. */
export function wireErrorFor(thrown: unknown): WireError {
  if (thrown instanceof WireError) return thrown
  if (!(thrown instanceof ZinError)) return new WireError('INTERNAL', 'The proxy could not handle the request', { cause: thrown })
  const code = codeFor(thrown)
  return new WireError(code, code === 'INTERNAL' ? 'The proxy could not handle the request' : thrown.message, { cause: thrown })
}

function codeFor({ code, status }: ZinError): WireErrorCode {
  if (sameCodes.has(code)) return code as WireErrorCode
  return otherCodes[code] ?? byStatus[status] ?? 'INTERNAL'
}
