import { defineService, type Logger, type ZinConfig } from 'zin'

/**
 * What a service does. Calls go to `running` ones only. `unhealthy`: each instance is started and failed its health checks. `failed`: it
 * could not be started; it is tried again as often as the option `restarts` says, and by `startService`.
 */
export type ServiceState = 'registered' | 'starting' | 'running' | 'unhealthy' | 'draining' | 'stopped' | 'failed'

/** How callers of a service prove who they are. `signed`: signed requests (HMAC-SHA256) with a key for each service. */
export type AuthStrategy = 'api-key' | 'jwt' | 'none' | 'custom' | 'signed'

export type CallMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

/** A call of a service. */
export interface ServiceCall {
  /** Default GET. */
  readonly method?: CallMethod
  /** Path with query. It begins with one `/`. */
  readonly path: string
  /** From the call to the last byte of the response, over all attempts, in ms. Default: option `timeoutMs`; less inside a request with a deadline. */
  readonly timeout?: number
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown
  /** Further headers; see {@link Microservices.injectHeaders}. An `idempotency-key` lets any method be tried again. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Response of a service, of any status. */
export interface ServiceResponse<T = unknown> {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed when the response is JSON, text when it is text, else bytes; `undefined` when it is empty. */
  readonly data: T
}

/** One address of a service. */
export interface InstanceView {
  /** `users-1`. */
  readonly id: string
  readonly url: string
  readonly state: ServiceState
  readonly circuit: 'closed' | 'open' | 'half-open'
  /** Calls without a response so far. */
  readonly inFlight: number
  /** How often it was started again without being told to. */
  readonly restarts: number
  /** Of a process of its own. */
  readonly pid?: number
  /** When it is started again: the how many-th time in a row `of` how many, and the time in ISO 8601. */
  readonly retry?: { readonly attempt: number; readonly of: number; readonly at: string }
  /** Why it is unhealthy or has failed. */
  readonly reason?: string
}

/** A service as `list` shows it. */
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

/** Calls of services, for services themselves. */
export interface ServiceCalls {
  /**
   * Requests a running service. Attempts that cannot have had an effect are repeated within the timeout and a budget. Responses of every
   * status are returned; redirects are refused.
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
   * The given headers with those of the trace of the current request: `traceparent`, `tracestate` and `x-trace-id`. Calls do not carry them
   * by themselves.
   */
  injectHeaders(headers?: Readonly<Record<string, string>>): Record<string, string>
  /** Runs a task, such as a job, as a part of the trace that is in these headers. */
  continueTrace<T>(headers: Readonly<Record<string, string>>, task: () => T): T
}

/** Services of the app: those in its folder, and those at registered addresses. */
export interface Microservices extends ServiceCalls {
  /** Starts a service, and resolves when it runs. Does nothing when it runs. Throws SERVICE_NOT_REGISTERED, SERVICE_START_FAILED. */
  startService(name: string): Promise<ServiceView>
  /** Waits for its calls, then stops a service. Throws SERVICE_NOT_REGISTERED. */
  stopService(name: string): Promise<ServiceView>
  /** All services, by name. */
  list(): readonly ServiceView[]
}

export const microservicesService = defineService<Microservices>('microservices')

/** What the function of a service's module gets. */
export interface ServiceContext {
  readonly name: string
  readonly domain: string
  readonly version: string
  /** Where it will listen. */
  readonly port: number
  /** Lines carry the name of the service. */
  readonly log: Logger
  readonly database: { readonly isolation: 'shared' | 'isolated'; readonly migrations: boolean }
  /** Calls of other services. */
  readonly services: ServiceCalls
}

/** Makes the app that a service is. */
export type ServiceModule = (context: ServiceContext) => ZinConfig | Promise<ZinConfig>

/**
 * Types the function that the module of a service exports by default; returns it unchanged. A service that needs nothing of its context
 * exports `defineConfig({ … })` instead.
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
