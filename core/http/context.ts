import { type IncomingMessage, type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http'
import type Koa from 'koa'
import type { Context } from 'koa'
import { bodyHeaders } from './headers.js'
import { isJson } from './send-stream.js'

const nodeResponse = Symbol('zin.res')
const id = Symbol('zin.requestId')
const isShared = Symbol('zin.isShared')
const ownRequest = Symbol('zin.request')
const ownResponse = Symbol('zin.response')
const ownState = Symbol('zin.state')
const hasStatus = Symbol('zin.hasStatus')
const heldHeaders = Symbol('zin.heldHeaders')
const heldJson = Symbol('zin.heldBody')
const sentLength = Symbol('zin.sentLength')

/** What the core keeps on a context. */
interface Slots {
  readonly [nodeResponse]: ServerResponse
  readonly [id]: string
  /** Whether something outside of the core has the response of Node or Koa. Until then, what is set is held here. */
  [isShared]: boolean
  [ownRequest]: object | undefined
  [ownResponse]: object | undefined
  [ownState]: object | undefined
  /** Whether a status was set, so that a body does not change it. */
  [hasStatus]: boolean
  /** Names and values in turn. */
  [heldHeaders]: readonly string[]
  /** A body that is JSON. */
  [heldJson]: unknown
  /** Length of a body that was sent with headers in one piece, in bytes: Node does not keep those. */
  [sentLength]: number | undefined
}

const slots = (ctx: Context): Slots => ctx as unknown as Slots
const none: readonly string[] = []

/** The response of Node. In the core only: whoever reads it this way must not change its headers or body. */
export const rawResponse = (ctx: Context): ServerResponse => slots(ctx)[nodeResponse]

/**
 * The id of a request, as in its response header `x-request-id` and in `requestContext()`, which routes with `context: false` do not have.
 *
 * @example
 * ctx.log.info({ requestId: requestIdOf(request) }, 'received')
 */
export function requestIdOf(ctx: Context): string {
  return slots(ctx)[id]
}

/**
 * Calls a listener when the client disconnects before it has its response, immediately if it already has. Returns a function that stops
 * watching. Unlike `ctx.res.on('close')`, it leaves the response alone, which is then sent with its headers in one piece.
 *
 * @example
 * const stopped = new AbortController()
 * const unwatch = onDisconnect(request, () => stopped.abort())
 */
export function onDisconnect(ctx: Context, listener: () => void): () => void {
  const res = rawResponse(ctx)
  const onClose = (): void => {
    if (!res.writableFinished) listener()
  }
  if (res.destroyed) onClose()
  res.on('close', onClose)
  return () => res.off('close', onClose)
}

/** Whether the response has no headers yet but what the context holds. */
export const isUntouched = (ctx: Context): boolean => !slots(ctx)[isShared]

/** Whether the status was set on the context. What Node's response got directly does not count, as in Koa. */
export function hasOwnStatus(ctx: Context): boolean {
  const { [hasStatus]: isHeld, [ownResponse]: response } = slots(ctx)
  return isHeld || (response as { readonly _explicitStatus?: boolean } | undefined)?._explicitStatus === true
}

/** The body that an untouched context holds. */
export const heldBody = (ctx: Context): unknown => slots(ctx)[heldJson]

/** The headers that an untouched context holds: names and values in turn. */
export const headersOfHeld = (ctx: Context): readonly string[] => slots(ctx)[heldHeaders]

export function hasHeader(ctx: Context, name: string): boolean {
  return isUntouched(ctx) ? indexOf(slots(ctx)[heldHeaders], name) !== -1 : rawResponse(ctx).hasHeader(name)
}

/** Notes the length of the body of an untouched response, in bytes. */
export function noteLength(ctx: Context, bytes: number): void {
  slots(ctx)[sentLength] = bytes
}

/** The `Content-Length` of a response, in bytes; undefined if it has none. */
export function lengthOf(ctx: Context): number | undefined {
  const { [nodeResponse]: res, [sentLength]: sent } = slots(ctx)
  if (sent !== undefined) return sent
  const declared = res.getHeader('content-length')
  return declared === undefined ? undefined : Number(declared)
}

/** The content type that Koa's type table returns for JSON. */
export const jsonType = 'application/json; charset=utf-8'

/** Headers that are not held: those about the body or the connection, and lists, which Koa or Node combine with others. */
const unheld: ReadonlySet<string> = new Set([...bodyHeaders, 'connection', 'keep-alive', 'date', 'trailer', 'set-cookie', 'x-request-id'])

const isHeld = (name: string): boolean =>
  name !== '' && !unheld.has(name) && (!name.startsWith('content-') || name.startsWith('content-security-policy'))

/** Whether a response with this status has no body. */
export const isBodiless = (status: number): boolean => status === 204 || status === 205 || status === 304

/** The name of a header, as one field of `Vary`; `*` replaces the others. */
const tokenPattern = /^(?!\*$)[\w!#$%&'*+.^`|~-]+$/

/**
 * Prepares headers that many responses get, for {@link PluginContext.wrap}. The returned function sets them on a context, which costs less
 * than a `ctx.set` for each. Throws a TypeError for an invalid name or value.
 *
 * @example
 * const setHeaders = preparedHeaders({ 'x-served-by': 'shop' })
 * ctx.wrap((request, next) => {
 *   setHeaders(request)
 *   return next()
 * })
 */
export function preparedHeaders(headers: Readonly<Record<string, string>>): (ctx: Context) => void {
  const entries = Object.entries(headers)
  for (const [name, value] of entries) {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  }
  const list: readonly string[] = entries.every(([name]) => isHeld(name.toLowerCase())) ? entries.flat() : none
  return (ctx) => {
    const held = slots(ctx)
    // A list that is held is replaced when it changes, so that all requests share this one.
    if (list !== none && isUntouched(ctx) && held[heldHeaders] === none) held[heldHeaders] = list
    else for (const [name, value] of entries) ctx.set(name, value)
  }
}

/** Whether what is set is held. Koa ignores what is set after the head was sent, and the log reads the status that was sent. */
const mayHold = (ctx: Slots): boolean => !ctx[isShared] && !ctx[nodeResponse].headersSent

function indexOf(headers: readonly string[], name: string): number {
  const wanted = name.toLowerCase()
  for (let i = 0; i < headers.length; i += 2) if (headers[i]?.toLowerCase() === wanted) return i
  return -1
}

/** Gives what a context holds to its response. */
function release(ctx: Slots): void {
  const { [heldHeaders]: headers, [heldJson]: body, [nodeResponse]: res } = ctx
  ctx[heldHeaders] = none
  ctx[heldJson] = undefined
  if (res.headersSent) return
  res.setHeader('x-request-id', ctx[id])
  for (let i = 0; i < headers.length; i += 2) res.setHeader(headers[i] as string, headers[i + 1] as string)
  if (!ctx[hasStatus] && body === undefined) return
  const { response } = ctx as unknown as Context
  if (ctx[hasStatus]) response.status = res.statusCode
  if (body === undefined) return
  if (!res.hasHeader('Content-Type')) res.setHeader('Content-Type', jsonType)
  response.body = body
}

/** Gives an object a property of its own in place of an accessor: in Koa these are properties that may be assigned. */
function replace(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true })
}

/** Creates the context of a request; `requestId` is the value of its header `x-request-id`. */
export type ContextFactory = (req: IncomingMessage, res: ServerResponse, requestId: string) => Context

/**
 * Returns a function that creates Koa's contexts, but each part of one only when it is first read: its request, its response, its state.
 * They are made from the prototypes of `koa`, so that everything which is added to those is there. A status, headers and a body that is JSON
 * are held until something reads the response, which then has them: sending what is held costs a fraction of what Koa's setters do.
 */
export function contextFactory(koa: Koa): ContextFactory {
  class OwnRequest {
    readonly app = koa
    readonly req: IncomingMessage
    readonly ctx: Context
    originalUrl: string

    constructor(ctx: Context) {
      this.req = ctx.req
      this.ctx = ctx
      this.originalUrl = ctx.originalUrl
    }

    get res(): ServerResponse {
      return this.ctx.res
    }

    set res(given: ServerResponse) {
      replace(this, 'res', given)
    }

    get response(): object {
      return this.ctx.response
    }

    set response(given: object) {
      replace(this, 'response', given)
    }
  }
  Object.setPrototypeOf(OwnRequest.prototype, koa.request)

  class OwnResponse {
    readonly app = koa
    readonly req: IncomingMessage
    readonly res: ServerResponse
    readonly ctx: Context

    constructor(ctx: Context) {
      this.req = ctx.req
      this.res = ctx.res
      this.ctx = ctx
    }

    get request(): object {
      return this.ctx.request
    }

    set request(given: object) {
      replace(this, 'request', given)
    }
  }
  Object.setPrototypeOf(OwnResponse.prototype, koa.response)

  class OwnContext implements Slots {
    readonly app = koa
    readonly req: IncomingMessage
    originalUrl: string
    readonly [nodeResponse]: ServerResponse
    readonly [id]: string;
    [isShared] = false;
    [ownRequest]: object | undefined = undefined;
    [ownResponse]: object | undefined = undefined;
    [ownState]: object | undefined = undefined;
    [hasStatus] = false;
    [heldHeaders]: readonly string[] = none;
    [heldJson]: unknown = undefined;
    [sentLength]: number | undefined = undefined

    constructor(req: IncomingMessage, res: ServerResponse, requestId: string) {
      this.req = req
      this.originalUrl = req.url ?? ''
      this[nodeResponse] = res
      this[id] = requestId
    }

    get res(): ServerResponse {
      if (!this[isShared]) {
        this[isShared] = true
        release(this)
      }
      return this[nodeResponse]
    }

    set res(given: ServerResponse) {
      void this.res
      replace(this, 'res', given)
    }

    get request(): object {
      this[ownRequest] ??= new OwnRequest(this as unknown as Context)
      return this[ownRequest]
    }

    set request(given: object) {
      this[ownRequest] = given
    }

    get response(): object {
      // What is released may need it, too.
      if (this[ownResponse] === undefined) void this.res
      this[ownResponse] ??= new OwnResponse(this as unknown as Context)
      return this[ownResponse]
    }

    set response(given: object) {
      this[ownResponse] = given
    }

    get state(): object {
      this[ownState] ??= {}
      return this[ownState]
    }

    set state(given: object) {
      this[ownState] = given
    }

    get status(): number {
      return this[nodeResponse].statusCode
    }

    set status(code: number) {
      const canHold = mayHold(this) && Number.isInteger(code) && code >= 100 && code <= 999
      if (canHold && (this[heldJson] === undefined || !isBodiless(code))) {
        this[hasStatus] = true
        this[nodeResponse].statusCode = code
      } else (this.response as Koa.Response).status = code
    }

    get body(): unknown {
      return this[isShared] ? (this.response as Koa.Response).body : this[heldJson]
    }

    set body(given: unknown) {
      if (!mayHold(this) || !isJson(given)) (this.response as Koa.Response).body = given
      else {
        if (!this[hasStatus]) this[nodeResponse].statusCode = 200
        this[heldJson] = given
      }
    }

    vary(field: string | string[]): void {
      if (this[isShared] || typeof field !== 'string' || !tokenPattern.test(field)) (this.response as Koa.Response).vary(field as string)
      else {
        const headers = this[heldHeaders]
        const at = indexOf(headers, 'vary')
        const listed = at === -1 ? '' : (headers[at + 1] as string)
        const isListed = listed === '*' || listed.split(',').some((one) => one.trim().toLowerCase() === field.toLowerCase())
        if (!isListed) this.set('Vary', listed === '' ? field : `${listed}, ${field}`)
      }
    }

    set(...given: readonly unknown[]): void {
      const [name, value] = given
      if (this[isShared] || typeof name !== 'string' || typeof value !== 'string' || !isHeld(name.toLowerCase()))
        (this.response as { set(...all: readonly unknown[]): void }).set(...given)
      else {
        // Node would refuse it only when it is sent.
        validateHeaderName(name)
        validateHeaderValue(name, value)
        const headers = this[heldHeaders]
        const at = indexOf(headers, name)
        this[heldHeaders] = at === -1 ? [...headers, name, value] : headers.with(at + 1, value)
      }
    }
  }
  Object.setPrototypeOf(OwnContext.prototype, koa.context)

  return (req, res, requestId) => new OwnContext(req, res, requestId) as unknown as Context
}
