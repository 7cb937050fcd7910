import type { Context, Middleware } from 'koa'
import type { EndedRequest, ErrorBody, FailedRequest } from '../hooks/catalogue.js'
import type { NotifySlot, WaterfallSlot } from '../hooks/kinds.js'
import type { Logger } from '../log/types.js'
import type { Address } from '../util/address.js'
import type { Clock } from '../util/clock.js'
import type { Disposer } from '../util/disposer.js'
import type { BodyDecoder } from './body.js'
import { ErrorResponder } from './error-responder.js'
import { httpErrors } from './errors.js'
import type { FormReader } from './form-reader.js'
import { HostCheck } from './host-check.js'
import type { InjectRequest, InjectResponse } from './inject.js'
import { inject } from './inject.js'
import { lazyKoa } from './koa.js'
import { setPrivatePaths } from './matched-route.js'
import type { RouteMiddleware, UseEntry, UsePhase } from './middleware.js'
import { MiddlewareRegistry } from './middleware-registry.js'
import { type ErrorInfo, openapiDocument, type SecuredRoute } from './openapi.js'
import { type Fallback, Pipeline, type PipelineParts, type PipelineRoute } from './pipeline.js'
import type { Responders } from './refusal-body.js'
import { RequestIds } from './request-ids.js'
import type { Registration, Route, RouteInfo } from './route.js'
import { infoOf } from './route.js'
import { type RouteFieldCheck, RouteFieldChecks } from './route-fields.js'
import { checkRoutes } from './route-problems.js'
import { type OfEveryRoute, routeSteps } from './route-steps.js'
import { type Serializer, serializerOf } from './serializers.js'
import { HttpServer } from './server.js'
import { Schemas } from './validate.js'

export interface HttpAppOptions {
  readonly log: Logger
  readonly clock: Clock
  readonly production: boolean
  /** Maximum size of a body in bytes unless a route overrides it. */
  readonly bodyLimit: number
  /** Folder of the app, where relative paths of `moveTo` start. */
  readonly rootDir: string
  /** Number of trusted proxies in front of the app; 0 ignores `X-Forwarded-*`. */
  readonly trustedProxies: number
  /** Allowed values of the `Host` header; one without a port also allows the name with the port of the app. `undefined`: any. */
  readonly allowedHosts: readonly string[] | undefined
  readonly info: { readonly title: string; readonly version: string }
  /** For the OpenAPI document. */
  readonly errors?: readonly ErrorInfo[]
  /** Whether requests are logged: at level info, probes at debug. */
  readonly logRequests: boolean
  /** The app's own bodies for 401 responses, by middleware key. */
  readonly responders?: Responders
  /** Called for 5xx only. */
  readonly onError: (error: Error, failed: FailedRequest) => void
  readonly transformErrorBody: Pick<WaterfallSlot<ErrorBody, [Error, FailedRequest]>, 'active' | 'call'>
  readonly requestEnd: NotifySlot<[EndedRequest]>
}

/**
 * The HTTP app of a host: the registrations of plugins and the server. Registrations take effect with the next {@link HttpApp.compile};
 * {@link Pipeline} handles the requests.
 */
export class HttpApp {
  readonly #options: HttpAppOptions
  readonly #middleware = new MiddlewareRegistry()
  readonly #registrations = new Set<Registration>()
  readonly #fallbacks = new Map<Fallback, string>()
  readonly #decoders = new Map<string, BodyDecoder>()
  readonly #fields = new RouteFieldChecks()
  readonly #schemas = new Schemas()
  readonly #hosts: HostCheck | undefined
  readonly #parts: PipelineParts
  readonly #server: HttpServer
  #forms: { readonly plugin: string; readonly reader: FormReader } | undefined
  #rank: (plugin: string) => number = () => 0
  #pipeline: Pipeline
  #secured: readonly SecuredRoute[] = []
  #document: { readonly secured: readonly SecuredRoute[]; readonly openapi: object } | undefined
  #port: number | undefined
  #draining = false

  constructor(options: HttpAppOptions) {
    const { trustedProxies, allowedHosts, log, clock, logRequests, info, requestEnd } = options
    this.#options = options
    this.#hosts = allowedHosts && new HostCheck(allowedHosts)
    // Not spread: that would load Koa.
    this.#parts = Object.assign(lazyKoa(options), {
      log,
      clock,
      ids: new RequestIds(),
      errors: new ErrorResponder(options),
      hosts: this.#hosts,
      appName: encodeURIComponent(info.title),
      trustedProxies,
      logRequests,
      requestEnd,
      isDraining: () => this.#draining,
    })
    this.#pipeline = new Pipeline(this.#parts, [], { wraps: [], globals: [], fallbacks: [] })
    this.#server = new HttpServer((req, res) => this.#pipeline.receive(req, res), clock)
  }

  addRoute(plugin: string, route: Route): Disposer {
    const registration = { plugin, route }
    this.#registrations.add(registration)
    return () => {
      if (this.#registrations.delete(registration)) this.#schemas.forget(route)
    }
  }

  /** Throws `ZIN_MIDDLEWARE_INVALID` for an invalid declaration, and `ZIN_MIDDLEWARE_TAKEN` if the key already has an owner. */
  addMiddleware(plugin: string, middleware: RouteMiddleware): Disposer {
    return this.#middleware.add(plugin, middleware)
  }

  /** Sets who reads multipart forms. Throws `ZIN_FORM_READER_TAKEN` if somebody does. */
  setFormReader(plugin: string, reader: FormReader): Disposer {
    if (this.#forms !== undefined) throw httpErrors.ZIN_FORM_READER_TAKEN(plugin, this.#forms.plugin)
    this.#forms = { plugin, reader }
    return () => {
      this.#forms = undefined
    }
  }

  /** Adds a middleware that runs for all requests except probes, by default before the route match. */
  addGlobal(plugin: string, middleware: Middleware, phase?: UsePhase): Disposer {
    return this.#middleware.addGlobal(plugin, middleware, phase)
  }

  /** Adds a middleware around everything, also around probes. */
  addWrap(plugin: string, middleware: Middleware): Disposer {
    return this.#middleware.addWrap(plugin, middleware)
  }

  /** Adds a handler for requests whose path no route has. */
  addFallback(plugin: string, fallback: Fallback): Disposer {
    const own: Fallback = (ctx) => fallback(ctx)
    this.#fallbacks.set(own, plugin)
    return () => void this.#fallbacks.delete(own)
  }

  /** Adds a decoder of request bodies; the first one of a coding counts. */
  addDecoder(coding: string, decoder: BodyDecoder): Disposer {
    if (this.#decoders.has(coding)) return () => undefined
    this.#decoders.set(coding, decoder)
    return () => void this.#decoders.delete(coding)
  }

  /** Adds the check of a field of routes. Throws `ZIN_ROUTE_FIELD_TAKEN`. */
  addField(plugin: string, field: string, check: RouteFieldCheck): Disposer {
    return this.#fields.add(plugin, field, check)
  }

  /** The route of a request, also before the match. */
  routeOf(ctx: Context, method?: string): Route | undefined {
    return this.#pipeline.routeOf(ctx, method)
  }

  /** Keys of the registered middleware. */
  get middlewareKeys(): readonly string[] {
    return this.#middleware.keys
  }

  /** Orders global middleware: lower ranks run first. */
  setRank(rank: (plugin: string) => number): void {
    this.#rank = rank
  }

  /**
   * Checks all registrations and replaces the pipeline; requests in flight finish on the old one.
   * Throws `ZIN_ROUTES_INVALID`, whose details list every problem, and then keeps the old pipeline.
   */
  compile(): void {
    const registrations = [...this.#registrations]
    checkRoutes(registrations, this.#middleware, this.#fields, this.#forms !== undefined)
    const every = {
      guarded: this.#middleware.globals(this.#rank, ['guarded']),
      parsed: this.#middleware.globals(this.#rank, ['parsed']),
    }
    const routes = registrations.map((registration) => this.#compileRoute(registration, every))
    const privatePaths = routes.filter(({ privatePath }) => privatePath).map(({ route }) => route.path)
    if (privatePaths.length > 0) setPrivatePaths(this.#parts.koa.context, privatePaths)
    if (routes.some(({ route }) => route.upgrade)) {
      this.#server.serveUpgrades({
        serves: (req) => this.#pipeline.isUpgrade(req),
        receive: (req, res, upgrade) => this.#pipeline.receive(req, res, upgrade),
      })
    }
    this.#pipeline = new Pipeline(this.#parts, routes, {
      wraps: this.#middleware.wraps(this.#rank),
      globals: this.#middleware.globals(this.#rank, ['limits', 'global']),
      fallbacks: [...this.#fallbacks].sort(([, a], [, b]) => this.#rank(a) - this.#rank(b)).map(([fallback]) => fallback),
    })
    this.#secured = registrations.map((registration) => ({
      ...registration,
      security: this.#middleware.securityFor(registration.route.use ?? []),
    }))
  }

  #compileRoute({ plugin, route }: Registration, every: OfEveryRoute): PipelineRoute {
    const { bodyLimit, production, log, rootDir } = this.#options
    const use = route.use ?? []
    const steps = { ...every, guards: this.#middleware.handlersFor(use) }
    const readers = { decoders: this.#decoders, forms: this.#forms?.reader, rootDir }
    return {
      route,
      info: this.#infoOf({ plugin, route }),
      privatePath: route.privatePath === true,
      bodyLimit: route.bodyLimit ?? bodyLimit,
      serialize: serializerOf(route) as Serializer | undefined,
      refusalKeys: this.#middleware.refusalKeysFor(use),
      hasGlobals: every.guarded.length + every.parsed.length > 0,
      run: routeSteps(route, steps, readers, this.#schemas, production ? undefined : log.child({ plugin })),
    }
  }

  #infoOf(registration: Registration): RouteInfo {
    return infoOf(registration, (entry) => this.#middleware.securityOf(entry))
  }

  /** Lists the registered routes by path and method. */
  routes(): readonly RouteInfo[] {
    const all = [...this.#registrations].map((registration) => this.#infoOf(registration))
    return all.sort((a, b) => (a.path === b.path ? compare(a.method, b.method) : compare(a.path, b.path)))
  }

  /** Other plugins whose routes use a middleware of this plugin, or whose middleware replaces one. */
  usersOfMiddleware(plugin: string): readonly string[] {
    const users = [...this.#registrations].filter(
      (entry) =>
        entry.plugin !== plugin &&
        entry.route.use?.some((listed: UseEntry) => typeof listed === 'string' && this.#middleware.ownerOf(listed) === plugin),
    )
    return [...new Set([...users.map((entry) => entry.plugin), ...this.#middleware.replacersOf(plugin)])]
  }

  /** Other plugins with routes whose files this plugin reads. */
  usersOfForms(plugin: string): readonly string[] {
    if (this.#forms?.plugin !== plugin) return []
    const users = [...this.#registrations].filter(({ plugin: other, route }) => other !== plugin && (route.files ?? route.streamFile))
    return [...new Set(users.map((entry) => entry.plugin))]
  }

  /** Returns the OpenAPI 3.1 document of the current routes: the same object until they change. */
  openapi(): object {
    const secured = this.#secured
    const { info, errors } = this.#options
    if (this.#document?.secured !== secured) this.#document = { secured, openapi: openapiDocument(info, secured, errors) }
    return this.#document.openapi
  }

  /** Sends a request through the app without a socket. */
  inject(request: InjectRequest): Promise<InjectResponse> {
    const name = this.#options.allowedHosts?.[0] ?? 'localhost'
    const host = this.#port === undefined || /:\d+$/.test(name) ? name : `${name}:${this.#port}`
    return inject((connection) => this.#server.connect(connection), host, request)
  }

  /** Opens the port. Throws `ZIN_LISTEN_FAILED`. */
  async listen(address: Address): Promise<Address> {
    // The first request does not wait for it.
    void this.#parts.koa
    const bound = await this.#server.listen(address)
    this.#port = bound.port
    this.#hosts?.setPort(bound.port)
    return bound
  }

  /** From now on, responses close their connection. */
  setDraining(): void {
    this.#draining = true
  }

  /**
   * Stops accepting connections, waits for requests in flight, and closes the connections that are left after `deadlineMs`.
   * `forced` is their number.
   */
  drain({ deadlineMs }: { readonly deadlineMs: number }): Promise<{ readonly forced: number }> {
    this.setDraining()
    return this.#server.drain(deadlineMs)
  }

  /** Closes the port and every connection immediately. */
  close(): Promise<void> {
    this.setDraining()
    return this.#server.close()
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
