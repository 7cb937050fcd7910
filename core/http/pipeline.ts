import type { IncomingMessage, ServerResponse } from 'node:http'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import { chain, type MaybePromise, type Step } from './chain.js'
import { type ContextFactory, hasHeader, rawResponse, requestIdOf } from './context.js'
import type { ErrorResponder } from './error-responder.js'
import { httpErrors, statusError } from './errors.js'
import { inboundRequestId, keepTrusted, repeatedHeader } from './headers.js'
import type { HostCheck } from './host-check.js'
import { closeAfterUnreadBody } from './linger.js'
import { type MatchedRoute, matchedRoute, setMatchedRoute } from './matched-route.js'
import { type RequestContext, requestContext, runInRequest } from './request-context.js'
import { followToEnd, type RequestEndParts } from './request-end.js'
import type { RequestIds } from './request-ids.js'
import type { Route } from './route.js'
import { RouteTable } from './router.js'
import { sendHeld, sendResponse } from './send-response.js'
import { originForm, pathOf, targetProblem } from './target.js'
import { asksFor, isTaken, type OpenedUpgrade, setUpgrade, switchingProtocols } from './upgrade.js'

/** Handles a request whose path no route has: true if it has answered. */
export type Fallback = (ctx: Context) => boolean | Promise<boolean>

/** What plugins add to a pipeline besides routes. */
export interface PipelineAdditions {
  /** Middleware around everything. */
  readonly wraps: readonly Middleware[]
  readonly globals: readonly Middleware[]
  readonly fallbacks: readonly Fallback[]
}

/** Dependencies shared by all pipelines of an app. */
export interface PipelineParts extends RequestEndParts {
  readonly koa: Koa
  readonly contexts: ContextFactory
  readonly ids: RequestIds
  readonly errors: ErrorResponder
  /** Absent: any host is accepted. */
  readonly hosts: HostCheck | undefined
  /** The app's name, encoded as clients send it in `X-Zin-App`. */
  readonly appName: string
  /** Number of trusted proxies in front of the app. */
  readonly trustedProxies: number
  readonly isDraining: () => boolean
}

/** A route ready to serve requests. */
export interface PipelineRoute extends MatchedRoute {
  readonly route: Route
  /** Whether middleware of all routes runs for it. */
  readonly hasGlobals: boolean
  /** Phases 7 to 12. */
  readonly run: Step
}

/**
 * Runs the phases of a request in this order:
 *
 *  1. request id and log line, middleware around everything
 *  2. probes: always served, before any check
 *  3. checks of the head: host, app, target, repeated headers, transfer coding, early data
 *  4. limits: middleware that counts and refuses requests
 *  5. global middleware
 *  6. route match: fallbacks, 404, 405, OPTIONS
 *  7. middleware of the route, such as authentication
 *  8. limits of known callers: middleware that runs once the route has accepted the request
 *  9. body
 * 10. middleware that needs the body as it was sent, such as the check of a form's token
 * 11. validation
 * 12. handler
 * 13. response, or the error response for what a phase threw or the body of a response that failed before its first byte
 *
 * A pipeline is immutable: requests in flight finish on the one they started with.
 */
export class Pipeline {
  readonly #parts: PipelineParts
  readonly #probes = new Map<string, Map<string, Step>>()
  /** Methods of routes that need no request context, by path; empty if there is global middleware, which may use one. */
  readonly #plain = new Map<string, Set<string>>()
  readonly #routes: RouteTable<PipelineRoute>
  readonly #run: Step
  readonly #enter: Step
  readonly #fallbacks: readonly Fallback[]

  constructor(parts: PipelineParts, routes: readonly PipelineRoute[], { wraps, globals, fallbacks }: PipelineAdditions) {
    this.#parts = parts
    this.#fallbacks = fallbacks
    const isPlain = wraps.length === 0 && globals.length === 0
    for (const { route, run, hasGlobals } of routes) {
      const { probe, context, path, method } = route
      if (probe) this.#probes.set(path, (this.#probes.get(path) ?? new Map<string, Step>()).set(method, chain(wraps, run)))
      else if (context === false && isPlain && !hasGlobals) this.#plain.set(path, (this.#plain.get(path) ?? new Set<string>()).add(method))
    }
    this.#routes = new RouteTable(routes.map((value) => ({ method: value.route.method, path: value.route.path, value })))
    // Phases 4 and 5 run before phase 6.
    this.#run = chain(globals, (ctx) => this.#match(ctx))
    this.#enter = chain(wraps, (ctx) => this.#checked(ctx))
  }

  /** Whether a request asks to change to a protocol that its route takes over. */
  isUpgrade(req: IncomingMessage): boolean {
    if (req.method !== 'GET') return false
    const path = pathOf(originForm(req.url ?? '', req.headers.host))
    try {
      const protocol = this.#routes.find('GET', path)?.value.route.upgrade?.protocol
      return protocol !== undefined && asksFor(req, protocol)
    } catch {
      // A malformed path: as an ordinary request it gets an error.
      return false
    }
  }

  /** Phases 1 and 2. */
  receive(req: IncomingMessage, res: ServerResponse, upgrade?: OpenedUpgrade): void {
    const { contexts, ids, trustedProxies } = this.#parts
    if (trustedProxies > 0) keepTrusted(req, trustedProxies)
    const inbound = inboundRequestId(req)
    const requestId = (trustedProxies > 0 ? inbound : undefined) ?? ids.next()
    const ctx = contexts(req, res, requestId)
    if (upgrade) setUpgrade(ctx, upgrade)
    // `originalUrl` stays as it was sent: a signature covers the target in origin form only.
    req.url = originForm(req.url ?? '', req.headers.host)
    res.statusCode = 404
    const probe = this.#probeFor(req)
    const context: RequestContext = { requestId, userId: undefined, route: undefined, traceId: undefined }
    followToEnd(this.#parts, ctx, { context, inbound, isProbe: probe !== undefined })
    if (probe) this.#settle(ctx, probe)
    else if (!this.#parts.requestEnd.active && this.#isPlain(req)) this.#settle(ctx, this.#enter)
    else runInRequest(context, () => this.#settle(ctx, this.#enter))
  }

  #probeFor({ method = 'GET', url = '' }: IncomingMessage): Step | undefined {
    return this.#probes.get(pathOf(url))?.get(method === 'HEAD' ? 'GET' : method)
  }

  #isPlain({ method = '', url = '' }: IncomingMessage): boolean {
    return this.#plain.size > 0 && this.#plain.get(pathOf(url))?.has(method === 'HEAD' ? 'GET' : method) === true
  }

  #checked(ctx: Context): MaybePromise {
    this.#checkHead(ctx)
    if (ctx.req.url !== '*') return this.#run(ctx)
    // RFC 9110 9.3.7: it asks only whether the server responds.
    ctx.status = 204
    return undefined
  }

  /** The route of a request, also before the match; of another method, if one is given. */
  routeOf(ctx: Context, method?: string): Route | undefined {
    const matched = matchedRoute(ctx)
    if (matched !== undefined && method === undefined) return matched.route
    try {
      return this.#routes.find(method ?? ctx.req.method ?? 'GET', pathOf(originForm(ctx.originalUrl, ctx.req.headers.host)))?.value.route
    } catch {
      // A malformed path; the match refuses it.
      return undefined
    }
  }

  /** Phase 3: rejects what must not reach a plugin, because it is ambiguous or meant for another app. */
  #checkHead(ctx: Context): void {
    const { koa, hosts, appName } = this.#parts
    const { req } = ctx
    const { headers } = req
    if (headers.host === undefined && req.httpVersion === '1.1') {
      rawResponse(ctx).shouldKeepAlive = false
      throw httpErrors.HOST_MISSING()
    }
    // Behind a trusted proxy `ctx.host` comes from X-Forwarded-Host.
    const isServed = hosts === undefined || (hosts.accepts(headers.host) && (!koa.proxy || hosts.accepts(ctx.host)))
    if (!isServed) throw httpErrors.MISDIRECTED()

    const app = headers['x-zin-app']
    if (app !== undefined && app !== appName) throw httpErrors.OTHER_APP()

    const problem = isServerOptions(req) ? undefined : targetProblem(req.url ?? '')
    if (problem !== undefined) throw httpErrors.BAD_REQUEST_TARGET(problem)

    const repeated = repeatedHeader(req)
    if (repeated !== undefined) throw httpErrors.DUPLICATE_HEADER(repeated)

    const coding = headers['transfer-encoding']
    if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || req.httpVersion === '1.0')) {
      // A proxy in front may find the end of the body elsewhere (request smuggling).
      rawResponse(ctx).shouldKeepAlive = false
      throw httpErrors.UNSUPPORTED_TRANSFER_ENCODING()
    }

    const { expect } = headers
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw httpErrors.EXPECTATION_FAILED()

    // RFC 8470 5.1: several or invalid values count as 1.
    if (headers['early-data'] !== undefined && req.method !== 'GET' && req.method !== 'HEAD') throw httpErrors.TOO_EARLY()
  }

  /** Phase 6. Matches the target as received: middleware that rewrites `ctx.url` cannot change which route, and thus which policy, applies. */
  #match(ctx: Context): MaybePromise {
    const path = pathOf(originForm(ctx.originalUrl, ctx.req.headers.host))
    const method = ctx.req.method ?? 'GET'
    const found = this.#routes.find(method, path)
    if (!found) return this.#noMatch(ctx, method, path)
    ctx.params = found.params
    setMatchedRoute(ctx, found.value)
    const context = requestContext()
    if (context) context.route = found.value.info
    return found.value.run(ctx)
  }

  #noMatch(ctx: Context, method: string, path: string): MaybePromise {
    const allowed = this.#routes.allowed(path)
    if (allowed.length === 0) {
      if (this.#fallbacks.length > 0) return this.#fallBack(ctx, method, path)
      throw httpErrors.NOT_FOUND(method, path)
    }
    const allow = allowed.join(', ')
    if (method !== 'OPTIONS') throw httpErrors.METHOD_NOT_ALLOWED(method, path, allow)
    ctx.status = 204
    ctx.set('Allow', allow)
    return undefined
  }

  async #fallBack(ctx: Context, method: string, path: string): Promise<void> {
    for (const fallback of this.#fallbacks) if (await fallback(ctx)) return
    throw httpErrors.NOT_FOUND(method, path)
  }

  /**
   * Runs a step, then phase 13. A synchronous step creates no promise: with async context tracking,
   * each promise costs as much as a route match.
   */
  #settle(ctx: Context, step: Step): void {
    try {
      const pending = step(ctx)
      if (pending)
        pending.then(
          () => this.#finish(ctx),
          (thrown: unknown) => this.#fail(ctx, thrown),
        )
      else this.#finish(ctx)
    } catch (thrown) {
      this.#fail(ctx, thrown)
    }
  }

  /** Phase 13. */
  #finish(ctx: Context): void {
    const status = rawResponse(ctx).statusCode
    if (status === switchingProtocols && isTaken(rawResponse(ctx))) return
    try {
      if (status >= 400 && lacksBody(ctx)) throw statusError(status)
      this.#send(ctx)
    } catch (thrown) {
      this.#fail(ctx, thrown)
    }
  }

  /** Phase 13 of a request that failed. */
  #fail(ctx: Context, thrown: unknown): void {
    try {
      const answers = this.#parts.errors.respond(ctx, requestIdOf(ctx), thrown)
      if (answers === true) this.#send(ctx)
      else if (answers !== false) answers.then((does) => does && this.#send(ctx)).catch((error) => this.#giveUp(ctx, error))
    } catch (error) {
      this.#giveUp(ctx, error)
    }
  }

  #giveUp(ctx: Context, error: unknown): void {
    this.#parts.log.error({ err: error, requestId: requestIdOf(ctx) }, 'an error response could not be written')
    ctx.res.destroy()
  }

  #send(ctx: Context): void {
    const { koa, isDraining } = this.#parts
    const { req } = ctx
    const raw = rawResponse(ctx)
    if (!raw.headersSent) {
      if (isDraining()) ctx.res.setHeader('Connection', 'close')
      if (isPrivate(ctx)) ctx.set('Cache-Control', 'no-store')
      closeAfterUnreadBody(req, raw)
    }
    if (!sendHeld(ctx)) sendResponse(koa, ctx, (reason) => this.#fail(ctx, reason))
  }
}

/** Refusals depend on the caller and are never cached, even if a middleware set `Cache-Control`; other errors only if their handler set it. */
const isPrivate = (ctx: Context): boolean =>
  ctx.status === 401 || ctx.status === 403 || (ctx.status >= 400 && !hasHeader(ctx, 'Cache-Control'))

const lacksBody = (ctx: Context): boolean => ctx.body == null && ctx.respond !== false && !rawResponse(ctx).headersSent

/** `OPTIONS *` (RFC 9110 9.3.7) is about the server, not about a path. */
const isServerOptions = ({ method, url }: IncomingMessage): boolean => url === '*' && method === 'OPTIONS'
