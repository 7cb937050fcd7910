import type { Writable } from 'node:stream'
import type { ParameterizedContext, Request } from 'koa'
import type { ZinError } from '../errors.js'
import { keyOfEntry, type SecurityRequirement, type StateOf, type UseEntry } from './middleware.js'
import type { BodyOf, JsonSchema, ParamsOf, QueryOf, ResponseSchemas, ResultOf } from './route-types.js'
import type { RouteUpgrade } from './upgrade.js'
import type { FileFields, FilesOf, IncomingFile } from './upload.js'

export type { JsonSchema } from './route-types.js'

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The validated parts of a request, typed by their schemas and the route's path. */
export interface RouteInput<P = unknown, Q = unknown, B = unknown, Path extends string = string> {
  readonly params: ParamsOf<P, Path>
  readonly query: QueryOf<Q>
  readonly body: BodyOf<B>
}

/** How the body of a route is read. */
export type BodyType = 'json' | 'form' | 'raw' | 'none'

/** What a route with a form has in `ctx.request`. */
export type FormOf<Kind, Files> = Kind extends 'form' ? { readonly files: FilesOf<Files> } : unknown

/**
 * Koa's context plus `input`, the validated parts of the request. The route's `use` determines the type of `state`, and that of
 * `request.user` if `state` has a field `user`.
 */
export interface RouteContext<
  P = unknown,
  Q = unknown,
  B = unknown,
  Path extends string = string,
  State = StateOf<undefined>,
  Form = unknown,
> extends ParameterizedContext<State> {
  readonly input: RouteInput<P, Q, B, Path>
  readonly request: Request & (State extends { readonly user: infer User } ? { readonly user: User } : unknown) & Form
}

/** One validation error of a request. */
export interface InvalidInput {
  /** The part of the request. */
  readonly part: 'params' | 'query' | 'body'
  /** Path within the part: `name`, `items[0].id`; empty for the part itself. */
  readonly field: string
  /** The JSON schema keyword that failed: `required`, `type`, `pattern`, … */
  readonly keyword: string
  /** What is wrong, in words. */
  readonly message: string
}

/**
 * Fields of routes that plugins read, see `ctx.routeField`. A plugin extends it with its own:
 *
 * @example
 * declare module 'zin' {
 *   interface RouteFields {
 *     readonly slowMs?: number
 *   }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: plugins add to it
export interface RouteFields {}

/**
 * The declaration of a route. The handler's return value is the body of a 200 response; `undefined` keeps what the handler
 * set on Koa's context. Paths are matched strictly and case-sensitively; a static path takes precedence over a parameter.
 */
export interface RouteSpec<
  P extends JsonSchema | undefined = undefined,
  Q extends JsonSchema | undefined = undefined,
  B extends JsonSchema | undefined = undefined,
  R extends ResponseSchemas | undefined = undefined,
  Path extends string = string,
  Result extends ResultOf<R> = ResultOf<R>,
  Use extends readonly UseEntry[] | undefined = undefined,
  Kind extends BodyType | undefined = undefined,
  Files extends FileFields | undefined = undefined,
> extends RouteFields {
  /** A `GET` route also serves `HEAD`. */
  readonly method: HttpMethod
  /** `/api/workers/:name`. Matched strictly and case-sensitively; a static path takes precedence over a parameter. */
  readonly path: Path
  /** One line for `/docs` and `zin routes`. */
  readonly summary: string
  /** A paragraph for OpenAPI and `/docs`. */
  readonly description?: string
  /** Group in `/docs`. Default: the plugin's name. */
  readonly tag?: string
  /**
   * The middleware that runs, in this order, before the body is read: keys of registered middleware, or middleware of `defineMiddleware`.
   * They type `ctx.state` and `ctx.request.user`.
   */
  readonly use?: Use
  /** Schema of the parameters in the path. Text is converted: `42` for an integer. */
  readonly params?: P
  /** Schema of the query. Text is converted; `?tag=a` matches an array with one element. */
  readonly query?: Q
  /** Schema of the body. Nothing is converted. */
  readonly body?: B
  /** Schemas by status: `200: {…}`. Error responses share one schema and need not be listed. */
  readonly response?: R
  /**
   * How JSON is written. `schema`: by a serializer that is compiled from the schema of the status in `response`. Small objects are written
   * faster, and a field that the schema does not name is left out, whoever set it, unless `additionalProperties` allows it. A value that does
   * not fit the schema is converted or, if that is impossible, a 500. `json` (default): as `JSON.stringify` does.
   */
  readonly serialize?: 'json' | 'schema'
  /** Schemas for OpenAPI instead of `params`, `query` and `body`, for handlers that do their own validation. */
  readonly documented?: { readonly [part in 'params' | 'query' | 'body']?: JsonSchema }
  /** Maximum size of a body in bytes. Default: the app's `bodyLimit`. */
  readonly bodyLimit?: number
  /** How the body is read. `json` (default), `form` (urlencoded or multipart), `raw` (a Buffer), `none`. */
  readonly bodyType?: Kind
  /**
   * The fields of a form that are files, by name; any other file is refused. They type `ctx.request.files` and appear in OpenAPI. Needs a plugin
   * that reads forms as they arrive, such as `uploads`.
   */
  readonly files?: Files
  /**
   * Returns a stream for a file of a form as it arrives, instead of a temporary file; it is destroyed with an error if the file fails. Undefined
   * for a temporary file. Needs the same plugin as `files`.
   */
  streamFile?(file: IncomingFile): Writable | undefined | Promise<Writable | undefined>
  /** Builds the error of a request that fails validation. Default, also if it returns undefined: 400 `VALIDATION_FAILED`. */
  onInvalid?(problems: readonly InvalidInput[]): ZinError | undefined
  /** A probe is served before host check, authentication and body. Its path must be static and it has no input. */
  readonly probe?: boolean
  /**
   * False: the route does not use `requestContext()`. Its requests then have no context, unless global middleware or listeners of
   * `onRequestEnd` might use it. For busy routes with a static path: as long as no other request of the process has a context, the runtime
   * does not track each promise, which on Node 20 saves a seventh of the cost of a request with twenty promises. Default: true.
   */
  readonly context?: boolean
  /** True: the path contains personal data, such as the id of a person. Logs and hooks get the path as registered instead. Default: false. */
  readonly privatePath?: boolean
  /**
   * Takes over the connection of a request that asks to change to another protocol, after the same checks and middleware as any other request.
   * Only for GET. A request that does not ask for it gets `handler`.
   */
  readonly upgrade?: RouteUpgrade
  /** Omits the route from OpenAPI and `/docs`. */
  readonly hidden?: boolean
  /**
   * Handles the request. The returned value is the body of a 200 response, as JSON unless it is text, bytes or a stream; undefined keeps
   * what the handler set on Koa's context. A thrown ZinError becomes a response with its status; any other error becomes a 500 without
   * details in production.
   */
  handler(ctx: RouteContext<P, Q, B, Path, StateOf<Use>, FormOf<Kind, Files>>): Result | Promise<Result>
}

// biome-ignore lint/suspicious/noExplicitAny: a route of any shape
export type Route = RouteSpec<any, any, any, any, any, any, any, any, any>

/**
 * Declares a route with typed input.
 *
 * @example
 * const getWorker = defineRoute({
 *   method: 'GET', path: '/api/workers/:name', summary: 'One worker',
 *   params: Type.Object({ name: Type.String() }),
 *   handler: ({ input }) => ({ ok: true, worker: input.params.name }),
 * })
 */
export function defineRoute<
  const Path extends string,
  const P extends JsonSchema | undefined = undefined,
  const Q extends JsonSchema | undefined = undefined,
  const B extends JsonSchema | undefined = undefined,
  const R extends ResponseSchemas | undefined = undefined,
  const Result extends ResultOf<R> = ResultOf<R>,
  const Use extends readonly UseEntry[] | undefined = undefined,
  const Kind extends BodyType | undefined = undefined,
  const Files extends FileFields | undefined = undefined,
>(route: RouteSpec<P, Q, B, R, Path, Result, Use, Kind, Files>): Route {
  return route
}

/** One row of the route table. */
export interface RouteInfo {
  readonly method: HttpMethod
  readonly path: string
  readonly plugin: string
  /** Keys of its middleware. */
  readonly use: readonly string[]
  /** The credentials that its middleware require, by key: for each, any one entry of the list is sufficient. Without those that require none. */
  readonly credentials: Readonly<Record<string, readonly SecurityRequirement[]>>
  readonly summary: string
  readonly probe: boolean
  /** The protocol to which it takes over connections, such as `websocket`. */
  readonly upgrade?: string
}

/** A route and the plugin that registered it. */
export interface Registration {
  readonly plugin: string
  readonly route: Route
}

export function infoOf(
  { plugin, route }: Registration,
  securityOf: (entry: UseEntry) => readonly SecurityRequirement[] | undefined,
): RouteInfo {
  const { method, path, summary, use = [], probe = false, upgrade } = route
  const required = use.flatMap((entry: UseEntry) => {
    const security = securityOf(entry)
    return security === undefined ? [] : [[keyOfEntry(entry), security] as const]
  })
  const credentials = Object.fromEntries(required)
  return { method, path, plugin, use: use.map(keyOfEntry), credentials, summary, probe, ...(upgrade && { upgrade: upgrade.protocol }) }
}
