import type { CallMethod, ServiceCalls, ServiceResponse } from '../contract.js'
import { microserviceErrors } from '../errors.js'

/** Options of every call of a typed client. */
export interface CallOptions {
  /** Deadline of the call, as in `callService`, in ms. */
  readonly timeout?: number
  /** Additional headers, such as those of `injectHeaders`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A response with a status from 200 to 299. */
export interface ServiceSuccess<Status extends number, Data> extends ServiceResponse<Data> {
  readonly ok: true
  readonly status: Status
}

/** A response with any other status. */
export interface ServiceFailure<Status extends number, Data> extends ServiceResponse<Data> {
  readonly ok: false
  readonly status: Status
}

/** One operation of a typed client. Throws the same errors as `callService`. */
export type ServiceOperation<Request extends object, Response> =
  Record<never, never> extends Request
    ? (request?: Request & CallOptions) => Promise<Response>
    : (request: Request & CallOptions) => Promise<Response>

/** Describes how to call an operation. */
export interface OperationShape {
  readonly method: CallMethod
  /** Path with its parameters in braces: `/users/{name}`. */
  readonly path: string
  /** Media type of the body. */
  readonly body?: string
}

interface AnyRequest extends CallOptions {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/**
 * Creates a typed client of a service from its operations. `zin service:types` generates the type and the operations.
 *
 * @example
 * interface UsersClient {
 *   readonly getUser: ServiceOperation<{ readonly params: { readonly id: string } }, ServiceSuccess<200, { name: string }> | ServiceFailure<number, unknown>>
 * }
 * async function nameOf(services: Parameters<typeof serviceClient>[0], id: string): Promise<string | undefined> {
 *   const users = serviceClient<UsersClient>(services, 'users', { getUser: { method: 'GET', path: '/users/{id}' } })
 *   const user = await users.getUser({ params: { id } })
 *   return user.ok ? user.data.name : undefined
 * }
 */
export function serviceClient<Client extends object>(
  services: ServiceCalls,
  service: string,
  operations: { readonly [Name in keyof Client]: OperationShape },
): Client {
  const call = async (shape: OperationShape, request: AnyRequest): Promise<object> => {
    const { timeout, headers = {} } = request
    const path = pathOf(service, shape.path, request)
    const response = await services.callService(service, {
      method: shape.method,
      path,
      headers: { ...(shape.body === undefined || request.body === undefined ? {} : { 'content-type': shape.body }), ...texts(headers) },
      ...(timeout === undefined ? {} : { timeout }),
      ...(request.body === undefined ? {} : { body: bodyOf(shape.body, request.body) }),
    })
    return { ok: response.status >= 200 && response.status < 300, ...response }
  }
  const made = Object.entries<OperationShape>(operations).map(([name, shape]) => [
    name,
    (request: AnyRequest = {}): Promise<object> => call(shape, request),
  ])
  return Object.fromEntries(made) as Client
}

function pathOf(service: string, template: string, { params = {}, query = {} }: AnyRequest): string {
  const path = template.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const text = Object.hasOwn(params, name) ? textOf(params[name]) : undefined
    // An empty segment would change the path.
    if (text === undefined || text === '')
      throw microserviceErrors.SERVICE_INVALID_TARGET(service, `the parameter ${name} of ${template} is missing or empty`)
    return encodeURIComponent(text)
  })
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      const text = textOf(one)
      if (text !== undefined) search.append(name, text)
    }
  return search.size === 0 ? path : `${path}?${search}`
}

/** Returns undefined for null and undefined: such a parameter is left out. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function texts(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name.toLowerCase(), String(value)]])),
  )
}

/** Encodes any value as JSON, including strings, if the operation expects JSON. Bytes are never encoded. */
function bodyOf(type: string | undefined, body: unknown): unknown {
  return type === undefined || (typeof body === 'object' && body instanceof Uint8Array) || !/json/i.test(type) ? body : JSON.stringify(body)
}
