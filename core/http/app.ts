import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, Middleware } from 'koa'
import Koa from 'koa'
import type { ErrorBody, FailedRequest } from '../hooks/catalogue.js'
import type { WaterfallSlot } from '../hooks/kinds.js'
import type { Disposer } from '../host/context.js'
import type { Address } from '../host/view.js'
import type { Logger, LogLevel } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { brokenAnswerLog, logAccess } from './access-log.js'
import { checkHead } from './check-head.js'
import { httpErrors, statusError } from './errors.js'
import { inboundRequestId } from './headers.js'
import { HostCheck } from './host-check.js'
import type { InjectRequest, InjectResponse } from './inject.js'
import { inject } from './inject.js'
import { closeAfterUnreadBody } from './linger.js'
import type { MaybePromise, Step } from './middleware.js'
import { MiddlewareRegistry } from './middleware.js'
import { type ErrorInfo, openapiDocument } from './openapi.js'
import { reply } from './reply.js'
import { runInRequest } from './request-context.js'
import { RequestIds } from './request-ids.js'
import { ErrorResponder } from './respond.js'
import type { Route, RouteInfo } from './route.js'
import { HttpServer } from './server.js'
import type { LiveTable, Registration } from './table.js'
import { compileTable, infoOf } from './table.js'
import { pathOf } from './target.js'
import { Schemas } from './validate.js'

export interface HttpAppOptions {
  readonly log: Logger
  readonly clock: Clock
  readonly production: boolean
  /** Most bytes of a body unless a route says otherwise. */
  readonly bodyLimit: number
  /** Trusted proxies in front of the app; 0 ignores `X-Forwarded-*`. */
  readonly trustedProxies: number
  /** Values the `Host` header may have; one without a port also stands for the name with the port listened on. `undefined`: anything. */
  readonly allowedHosts: readonly string[] | undefined
  readonly info: { readonly title: string; readonly version: string }
  /** For the OpenAPI document. */
  readonly errors?: readonly ErrorInfo[]
  /** Whether each request gets a line in the log: at info, and at debug for a probe. */
  readonly logRequests: boolean
  /** Called for 5xx only. */
  readonly onError: (error: Error, failed: FailedRequest) => void
  readonly transformErrorBody: WaterfallSlot<ErrorBody, [Error, FailedRequest]>
}

/**
 * The HTTP side of a host: a Koa app with fixed phases. Registrations take effect with the next {@link HttpApp.compile}.
 *
 * request id and log → probes → host check → checks of the head → errors → global middleware → route match → middleware of the route →
 * body → validation → handler.
 */
export class HttpApp {
  readonly #options: HttpAppOptions
  readonly #middleware = new MiddlewareRegistry()
  readonly #registrations = new Set<Registration>()
  readonly #schemas = new Schemas()
  readonly #ids = new RequestIds()
  readonly #errors: ErrorResponder
  readonly #hosts: HostCheck | undefined
  /** As clients send it in `X-Zin-App`. */
  readonly #name: string
  readonly #koa: Koa
  readonly #server: HttpServer
  #rank: (plugin: string) => number = () => 0
  #table: LiveTable
  #document: { readonly registrations: readonly Registration[]; readonly openapi: object } | undefined
  #port: number | undefined
  #draining = false

  constructor(options: HttpAppOptions) {
    this.#options = options
    this.#errors = new ErrorResponder(options)
    this.#hosts = options.allowedHosts && new HostCheck(options.allowedHosts)
    this.#name = encodeURIComponent(options.info.title)
    this.#table = this.#build([])
    const { trustedProxies, production } = options
    this.#koa = new Koa({ proxy: trustedProxies > 0, maxIpsCount: trustedProxies, env: production ? 'production' : 'development' })
    this.#koa.on('error', brokenAnswerLog(options.log))
    this.#server = new HttpServer((req, res) => this.#handle(req, res), options.clock)
  }

  addRoute(plugin: string, route: Route): Disposer {
    const registration = { plugin, route }
    this.#registrations.add(registration)
    return () => {
      if (this.#registrations.delete(registration)) this.#schemas.forget(route)
    }
  }

  /** Throws `ZIN_MIDDLEWARE_TAKEN` when the key has an owner. */
  addMiddleware(plugin: string, key: string, middleware: Middleware): Disposer {
    return this.#middleware.add(plugin, key, middleware)
  }

  /** Adds a middleware that runs before the route match, for all requests but probes. */
  addGlobal(plugin: string, middleware: Middleware): Disposer {
    return this.#middleware.addGlobal(plugin, middleware)
  }

  /** Orders global middleware: lower ranks run first. */
  setRank(rank: (plugin: string) => number): void {
    this.#rank = rank
  }

  /**
   * Checks all registrations and swaps the live table; requests in flight finish on the old one.
   * Throws one ZinError `ZIN_ROUTES_INVALID` whose details list every problem, and keeps the old table.
   */
  compile(): void {
    this.#table = this.#build([...this.#registrations])
  }

  /** What is registered, by path and method. */
  routes(): readonly RouteInfo[] {
    return [...this.#registrations].map(infoOf).sort((a, b) => (a.path === b.path ? compare(a.method, b.method) : compare(a.path, b.path)))
  }

  /** Other plugins whose routes name a middleware key of this one. */
  usersOfMiddleware(plugin: string): readonly string[] {
    const users = [...this.#registrations].filter(
      (entry) => entry.plugin !== plugin && entry.route.use?.some((key) => this.#middleware.ownerOf(key) === plugin),
    )
    return [...new Set(users.map((entry) => entry.plugin))]
  }

  /** The OpenAPI 3.1 document of the live table: the same object until the table changes. */
  openapi(): object {
    const { registrations } = this.#table
    if (this.#document?.registrations !== registrations) {
      this.#document = { registrations, openapi: openapiDocument(this.#options.info, registrations, this.#options.errors) }
    }
    return this.#document.openapi
  }

  /** Sends a request through the app without a socket. */
  inject(request: InjectRequest): Promise<InjectResponse> {
    const name = this.#options.allowedHosts?.[0] ?? 'localhost'
    const host = this.#port === undefined || /:\d+$/.test(name) ? name : `${name}:${this.#port}`
    return inject((connection) => this.#server.connect(connection), host, request)
  }

  /** Throws `ZIN_LISTEN_FAILED`. */
  async listen(address: Address): Promise<Address> {
    const bound = await this.#server.listen(address)
    this.#port = bound.port
    this.#hosts?.setPort(bound.port)
    return bound
  }

  /** From now on answers close their connection. */
  setDraining(): void {
    this.#draining = true
  }

  /**
   * Stops accepting, waits for requests in flight, and cuts the connections that are left after `deadlineMs`.
   * `forced` counts those.
   */
  drain({ deadlineMs }: { readonly deadlineMs: number }): Promise<{ readonly forced: number }> {
    this.setDraining()
    return this.#server.drain(deadlineMs)
  }

  /** Closes the port and every connection at once. */
  close(): Promise<void> {
    this.setDraining()
    return this.#server.close()
  }

  #build(registrations: readonly Registration[]): LiveTable {
    const { bodyLimit, production, log } = this.#options
    const parts = { middleware: this.#middleware, rank: this.#rank, schemas: this.#schemas, bodyLimit }
    return compileTable({ ...parts, registrations, warn: production ? undefined : log })
  }

  #handle(req: IncomingMessage, res: ServerResponse): void {
    const ctx = this.#koa.createContext(req, res) as Context
    res.statusCode = 404
    const { trustedProxies, log, clock } = this.#options
    const inbound = inboundRequestId(req)
    const requestId = (trustedProxies > 0 ? inbound : undefined) ?? this.#ids.next()
    res.setHeader('x-request-id', requestId)
    const table = this.#table
    const probe = table.probe(req.method ?? 'GET', pathOf(req.url ?? ''))
    const level = probe ? 'debug' : 'info'
    if (this.#options.logRequests && logged[level].includes(log.level)) {
      logAccess(
        log,
        level,
        clock,
        ctx,
        inbound === undefined || inbound === requestId ? { requestId } : { requestId, clientRequestId: inbound },
      )
    }
    if (probe) this.#run(ctx, requestId, probe)
    else runInRequest({ requestId, userId: undefined, route: undefined }, () => this.#run(ctx, requestId, (it) => this.#answer(it, table)))
  }

  /**
   * Runs a step and sends what it made of the context, or the error it threw. A step that needs no waiting makes no promise:
   * where requests are traced by async context, each promise costs as much as a route match.
   */
  #run(ctx: Context, requestId: string, step: Step): void {
    try {
      const pending = step(ctx)
      if (pending)
        pending.then(
          () => this.#finish(ctx, requestId),
          (thrown: unknown) => this.#fail(ctx, requestId, thrown),
        )
      else this.#finish(ctx, requestId)
    } catch (thrown) {
      void this.#fail(ctx, requestId, thrown)
    }
  }

  #finish(ctx: Context, requestId: string): void {
    const status = ctx.res.statusCode
    try {
      if (status >= 400 && lacksBody(ctx)) throw statusError(status)
      this.#send(ctx)
    } catch (thrown) {
      void this.#fail(ctx, requestId, thrown)
    }
  }

  async #fail(ctx: Context, requestId: string, thrown: unknown): Promise<void> {
    try {
      await this.#errors.answer(ctx, requestId, thrown)
      this.#send(ctx)
    } catch (error) {
      this.#options.log.error({ err: error, requestId }, 'an error answer could not be written')
      ctx.res.destroy()
    }
  }

  #send(ctx: Context): void {
    const { req, res } = ctx
    if (!res.headersSent) {
      if (this.#draining) res.setHeader('Connection', 'close')
      if (isPrivate(res)) res.setHeader('Cache-Control', 'no-store')
      closeAfterUnreadBody(req, res)
    }
    reply(this.#koa, ctx)
  }

  #answer(ctx: Context, table: LiveTable): MaybePromise {
    if (this.#hosts && !this.#isServed(ctx, this.#hosts)) throw httpErrors.MISDIRECTED()
    const meant = ctx.req.headers['x-zin-app']
    if (meant !== undefined && meant !== this.#name) throw httpErrors.OTHER_APP()
    checkHead(ctx.req, ctx.res)
    return table.run(ctx)
  }

  /** The `Host` of the request, and what `ctx.host` says, which comes from `X-Forwarded-Host` behind a trusted proxy. */
  #isServed(ctx: Context, hosts: HostCheck): boolean {
    return hosts.accepts(ctx.req.headers.host) && (!this.#koa.proxy || hosts.accepts(ctx.host))
  }
}

/** Refusals depend on who asked, whatever a middleware said before; other errors are not kept unless their handler wants it. */
const isPrivate = (res: ServerResponse): boolean =>
  res.statusCode === 401 || res.statusCode === 403 || (res.statusCode >= 400 && !res.hasHeader('Cache-Control'))

const lacksBody = (ctx: Context): boolean => ctx.body == null && ctx.respond !== false && !ctx.res.headersSent

/** Log levels at which a line is written. */
const logged: Readonly<Record<'debug' | 'info', readonly LogLevel[]>> = { debug: ['trace', 'debug'], info: ['trace', 'debug', 'info'] }

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
