import type { ParameterizedContext, Request } from 'koa'
import type { ZinError } from '../errors.js'
import type { StateOf } from './middleware.js'
import type { BodyOf, JsonSchema, ParamsOf, QueryOf, ResponseSchemas, ResultOf } from './route-types.js'

export type { JsonSchema } from './route-types.js'

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The validated parts of a request, typed by their schemas and the route's path. */
export interface RouteInput<P = unknown, Q = unknown, B = unknown, Path extends string = string> {
  readonly params: ParamsOf<P, Path>
  readonly query: QueryOf<Q>
  readonly body: BodyOf<B>
}

/**
 * Koa's own context plus `input`, the validated parts of the request. `state`, and `request.user` where a field of it is named `user`, are
 * typed by the route's `use`.
 */
export interface RouteContext<P = unknown, Q = unknown, B = unknown, Path extends string = string, State = StateOf<undefined>>
  extends ParameterizedContext<State> {
  readonly input: RouteInput<P, Q, B, Path>
  readonly request: Request & (State extends { readonly user: infer User } ? { readonly user: User } : unknown)
}

/** One fault that validation found in a request. */
export interface InvalidInput {
  /** Where in the request. */
  readonly part: 'params' | 'query' | 'body'
  /** Path inside the part: `name`, `items[0].id`; empty for the part itself. */
  readonly field: string
  /** The JSON schema keyword that failed: `required`, `type`, `pattern`, … */
  readonly keyword: string
  /** What is wrong, in words. */
  readonly message: string
}

/**
 * One route. The handler's return value is the body of a 200 response; `undefined` keeps what the handler
 * set on Koa's context. Paths are matched strictly and case-sensitively; a static path takes precedence over a parameter.
 */
export interface RouteSpec<
  P extends JsonSchema | undefined = undefined,
  Q extends JsonSchema | undefined = undefined,
  B extends JsonSchema | undefined = undefined,
  R extends ResponseSchemas | undefined = undefined,
  Path extends string = string,
  Result extends ResultOf<R> = ResultOf<R>,
  Use extends readonly string[] | undefined = undefined,
> {
  /** `HEAD` is served by a `GET` route. */
  readonly method: HttpMethod
  /** `/api/workers/:name`. Matched strictly and case-sensitively; a static path takes precedence over a parameter. */
  readonly path: Path
  /** One line for `/docs` and `zin routes`. */
  readonly summary: string
  /** A paragraph about it for OpenAPI and `/docs`. */
  readonly description?: string
  /** Group in `/docs`. Default: the plugin's name. */
  readonly tag?: string
  /** Keys of middleware that runs in this order before the body is read. They type `ctx.state` and `ctx.request.user`. */
  readonly use?: Use
  /** Schema of the parameters in the path. Text is converted: `42` for an integer. */
  readonly params?: P
  /** Schema of the query. Text is converted; `?tag=a` matches an array with one element. */
  readonly query?: Q
  /** Schema of the body. Nothing is converted. */
  readonly body?: B
  /** Schema by status. `200: {…}`; error responses share one schema and need not be listed. */
  readonly response?: R
  /** Schemas for OpenAPI in place of `params`, `query` and `body`, for handlers that do their own validation. */
  readonly documented?: { readonly [part in 'params' | 'query' | 'body']?: JsonSchema }
  /** Maximum size of a body in bytes. Default: the app's `bodyLimit`. */
  readonly bodyLimit?: number
  /** How the body is read. `json` (default), `form` (urlencoded or multipart), `raw` (a Buffer), `none`. */
  readonly bodyType?: 'json' | 'form' | 'raw' | 'none'
  /** Builds the error of a request that fails validation. Without it, or if it returns undefined: 400 `VALIDATION_FAILED`. */
  onInvalid?(problems: readonly InvalidInput[]): ZinError | undefined
  /** A probe is served before host check, authentication and body. Its path must be static and it has no input. */
  readonly probe?: boolean
  /**
   * False: the route does without `requestContext()`, and where nobody else could use it, that is without global middleware and listeners
   * of `onRequestEnd`, its requests have none. For busy routes with a static path: as long as no other request of the process has a
   * context, the runtime does not track each of their promises (on Node 20 a seventh of a request with twenty promises). Default: true.
   */
  readonly context?: boolean
  /** Left out of OpenAPI and `/docs`. */
  readonly hidden?: boolean
  /**
   * Serves the request. What it returns is the body of a 200 response, as JSON unless it is text, bytes or a stream; undefined keeps
   * what it set on Koa's context. A thrown ZinError becomes a response with its status; any other error becomes a 500 without
   * details in production.
   */
  handler(ctx: RouteContext<P, Q, B, Path, StateOf<Use>>): Result | Promise<Result>
}

// biome-ignore lint/suspicious/noExplicitAny: a route of any shape
export type Route = RouteSpec<any, any, any, any, any, any, any>

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
  const Use extends readonly string[] | undefined = undefined,
>(route: RouteSpec<P, Q, B, R, Path, Result, Use>): Route {
  return route
}

/** One row of the route table. */
export interface RouteInfo {
  readonly method: HttpMethod
  readonly path: string
  readonly plugin: string
  readonly use: readonly string[]
  readonly summary: string
  readonly probe: boolean
}

/** A route and the plugin it came from. */
export interface Registration {
  readonly plugin: string
  readonly route: Route
}

export function infoOf({ plugin, route }: Registration): RouteInfo {
  const { method, path, summary, use = [], probe = false } = route
  return { method, path, plugin, use, summary, probe }
}
