import { defineService, type Logger, type ZinConfig } from 'zin'

/**
 * State of a service. Only `running` services receive calls. `unhealthy`: every instance is started but fails its health checks. `failed`:
 * it could not be started; it is retried up to `restarts` times (option), and by `startService`.
 */
export type ServiceState = 'registered' | 'starting' | 'running' | 'unhealthy' | 'draining' | 'stopped' | 'failed'

/** How callers of a service authenticate. `signed`: signed requests (HMAC-SHA256) with a key for each service. */
export type AuthStrategy = 'api-key' | 'jwt' | 'none' | 'custom' | 'signed'

export type CallMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

/** A call of a service. */
export interface ServiceCall {
  /** Default GET. */
  readonly method?: CallMethod
  /** Path with query. It begins with one `/`. */
  readonly path: string
  /** Deadline up to the last byte of the response, over all attempts, in ms. Default: option `timeoutMs`; limited by the caller's deadline. */
  readonly timeout?: number
  /** Strings and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown
  /** Additional headers; see {@link Microservices.injectHeaders}. An `idempotency-key` allows retries of any method. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Response of a service, of any status. */
export interface ServiceResponse<T = unknown> {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed if the response is JSON, a string if it is text, otherwise bytes; `undefined` if it is empty. */
  readonly data: T
}

/** One address of a service. */
export interface InstanceView {
  /** `users-1`. */
  readonly id: string
  readonly url: string
  readonly state: ServiceState
  readonly circuit: 'closed' | 'open' | 'half-open'
  /** Calls in flight. */
  readonly inFlight: number
  /** Number of automatic restarts. */
  readonly restarts: number
  /** Set if it runs in a child process. */
  readonly pid?: number
  /** The next automatic restart: its number in the current series, the maximum (`of`), and its time in ISO 8601. */
  readonly retry?: { readonly attempt: number; readonly of: number; readonly at: string }
  /** Why it is unhealthy or has failed. */
  readonly reason?: string
}

/** A service as returned by `list`. */
export interface ServiceView {
  readonly name: string
  readonly domain: string
  readonly version: string
  readonly description: string
  /** `discovered`: from a service.config.json. `registered`: from the option `services`. */
  readonly source: 'discovered' | 'registered'
  readonly state: ServiceState
  readonly dependencies: readonly string[]
  readonly healthCheck: string
  readonly auth: AuthStrategy
  readonly database: { readonly isolation: 'shared' | 'isolated'; readonly migrations: boolean }
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
  readonly instances: readonly InstanceView[]
}

/** Calls services; also available inside services. */
export interface ServiceCalls {
  /**
   * Calls a running service. Calls that can be repeated safely are retried within the timeout and the retry budget. Returns responses of any
   * status; redirects are refused.
   *
   * @throws ZinError SERVICE_NOT_REGISTERED 404, SERVICE_NOT_RUNNING 503, SERVICE_INVALID_TARGET 400, SERVICE_TIMEOUT 504,
   * SERVICE_CIRCUIT_OPEN 503, SERVICE_BUSY 503, SERVICE_UNREACHABLE 502, SERVICE_RESPONSE_TOO_LARGE 502.
   * @example
   * async function nameOf(services: ServiceCalls, id: string): Promise<string> {
   *   const { data } = await services.callService<{ name: string }>('users', { path: `/users/${id}`, timeout: 1000 })
   *   return data.name
   * }
   */
  callService<T = unknown>(name: string, call: ServiceCall): Promise<ServiceResponse<T>>
  /**
   * Returns the given headers with those of the current request's trace: `traceparent`, `tracestate` and `x-trace-id`. They are not added to
   * calls automatically, unless the plugin observability records traces.
   */
  injectHeaders(headers?: Readonly<Record<string, string>>): Record<string, string>
  /** Runs a task, such as a job, as part of the trace in these headers. */
  continueTrace<T>(headers: Readonly<Record<string, string>>, task: () => T): T
}

/** Services of the app: discovered in its folders, or registered by URL. */
export interface Microservices extends ServiceCalls {
  /** Starts a service and resolves once it runs. Does nothing if it already runs. Throws SERVICE_NOT_REGISTERED, SERVICE_START_FAILED. */
  startService(name: string): Promise<ServiceView>
  /** Drains a service (at most 5 s), then stops it. Throws SERVICE_NOT_REGISTERED. */
  stopService(name: string): Promise<ServiceView>
  /** Returns all services, sorted by name. */
  list(): readonly ServiceView[]
}

export const microservicesService = defineService<Microservices>('microservices')

/** Argument of the function that a service's module exports. */
export interface ServiceContext {
  readonly name: string
  readonly domain: string
  readonly version: string
  /** Port it will listen on. */
  readonly port: number
  /** Adds the name of the service to each line. */
  readonly log: Logger
  readonly database: { readonly isolation: 'shared' | 'isolated'; readonly migrations: boolean }
  /** Calls of other services. */
  readonly services: ServiceCalls
}

/** Creates the app of a service. */
export type ServiceModule = (context: ServiceContext) => ZinConfig | Promise<ZinConfig>

/**
 * Types the function that a service's module exports by default; returns it unchanged. A service that does not need the context exports
 * `defineConfig({ … })` instead.
 *
 * @example
 * export default defineMicroservice(({ services }) => ({
 *   routes: [
 *     defineRoute({
 *       method: 'GET',
 *       path: '/orders/:id',
 *       summary: 'An order with its user',
 *       handler: async () => (await services.callService('users', { path: '/users/7' })).data,
 *     }),
 *   ],
 * }))
 */
export function defineMicroservice(create: ServiceModule): ServiceModule {
  return create
}
