import { Socket } from 'node:net'
import type { Context } from 'koa'
import { messageOf, ZinError } from '../errors.js'
import type { ErrorBody, FailedRequest } from '../hooks/catalogue.js'
import type { WaterfallSlot } from '../hooks/kinds.js'
import type { Logger } from '../log/types.js'
import { isUntouched, rawResponse } from './context.js'
import { httpErrors, statusError } from './errors.js'
import { bodyHeaders } from './headers.js'
import { reportedPath } from './matched-route.js'
import { pathOf } from './target.js'

export interface ErrorResponderOptions {
  readonly log: Logger
  readonly production: boolean
  readonly onError: (error: Error, failed: FailedRequest) => void
  readonly transformErrorBody: Pick<WaterfallSlot<ErrorBody, [Error, FailedRequest]>, 'active' | 'call'>
}

/** Converts a thrown value to an error response. */
export class ErrorResponder {
  readonly #options: ErrorResponderOptions

  constructor(options: ErrorResponderOptions) {
    this.#options = options
  }

  /** Returns whether the error response is to be sent; false if the connection was cut or the client has left. */
  respond(ctx: Context, requestId: string, thrown: unknown): boolean | Promise<boolean> {
    const cause = thrown instanceof Error ? thrown : new Error(`A handler threw something that is not an error: ${messageOf(thrown)}`)
    const error = toZinError(cause)
    const { headersSent, destroyed, writableEnded, socket } = rawResponse(ctx)
    const isCut = headersSent && !destroyed && !writableEnded
    const status = isCut ? cutStatus(cause) : error.status
    const { method = '', url = '' } = ctx.req
    const failed: FailedRequest = { id: requestId, method, path: reportedPath(ctx, pathOf(url)), status }
    if (status >= 500) this.#report(cause, failed)
    // Part of the response was sent; only closing the connection shows the client that it is incomplete.
    if (isCut) cut(ctx, cause)
    if (headersSent || destroyed || writableEnded || socket?.writable === false) return false
    const body = this.#redact(error)
    if (this.#options.transformErrorBody.active) return this.#transformed(body, cause, failed).then((sent) => answer(ctx, error, sent))
    return answer(ctx, error, body)
  }

  async #transformed(body: ErrorBody, cause: Error, failed: FailedRequest): Promise<ErrorBody> {
    const { log, transformErrorBody } = this.#options
    try {
      return await transformErrorBody.call(body, cause, failed)
    } catch (fault) {
      log.error({ err: fault, requestId: failed.id }, 'transformErrorBody failed; the body is sent unchanged')
      return body
    }
  }

  #report(error: Error, failed: FailedRequest): void {
    const { log, onError } = this.#options
    log.error({ err: error, requestId: failed.id, method: failed.method, path: failed.path, status: failed.status }, 'request failed')
    try {
      onError(error, failed)
    } catch (fault) {
      log.error({ err: fault, requestId: failed.id }, 'onError failed')
    }
  }

  /** In production a 5xx reveals no cause: a 503 asks to try again, others refer to the request id. */
  #redact(error: ZinError): ErrorBody {
    if (this.#options.production && error.status >= 500) {
      const message =
        error.status === 503
          ? 'The service is temporarily unavailable; try again in a few seconds'
          : 'The server could not handle the request; if you report it, include the x-request-id header of this response'
      return { error: error.title, message, code: error.code }
    }
    const body = { error: error.title, message: error.message, code: error.code }
    return error.details === undefined ? body : { ...body, details: error.details }
  }
}

function answer(ctx: Context, { status, headers }: ZinError, body: ErrorBody): true {
  // An untouched response holds none of them.
  if (!isUntouched(ctx)) for (const name of bodyHeaders) ctx.remove(name)
  ctx.respond = true
  ctx.status = status
  ctx.set('Cache-Control', 'no-store')
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  ctx.body = body
  return true
}

function cut({ req, res }: Context, cause: Error): void {
  // Without a length or chunks, an orderly end would look like a complete response.
  const isDelimited = req.httpVersion !== '1.0' || res.hasHeader('content-length')
  if (!isDelimited && res.socket instanceof Socket) res.socket.resetAndDestroy()
  res.destroy(cause)
}

/** The status under which a response counts that was cut because of an error: always that of a fault, whatever its head says. */
export const cutStatus = (error: Error): number => Math.max(500, toZinError(error).status)

interface HttpError extends Error {
  readonly status: number
  readonly expose: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns a ZinError unchanged. http-errors (from `ctx.throw`) keep their status, and their text if exposed; everything else becomes a 500. */
function toZinError(error: Error): ZinError {
  if (error instanceof ZinError || (error.name === 'ZinError' && 'code' in error)) return error as ZinError
  if (isHttpError(error)) {
    return statusError(error.status, error.expose ? error.message : undefined, error.headers)
  }
  return httpErrors.INTERNAL_ERROR(error)
}

function isHttpError(error: Error): error is HttpError {
  const { status, expose } = error as Partial<HttpError>
  return typeof expose === 'boolean' && typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599
}
