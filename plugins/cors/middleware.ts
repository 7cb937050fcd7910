import type koaCorsFactory from '@koa/cors'
import type { Context, Middleware, Next } from 'koa'
import { announcesBody, isOwnOrigin } from 'zin'
import type { Policy } from './policy.js'

export interface CorsMiddlewareOptions {
  readonly koaCors: typeof koaCorsFactory
  readonly exposedHeaders: readonly string[]
  readonly maxAgeSeconds: number
  /** The policy for a request; undefined: no one may call. `method` is that of the route, if it differs from that of the request. */
  policyOf(request: Context, method?: string): Policy | undefined
  /** Called once for each of the first origins that may not call. */
  readonly onRefused: ((origin: string) => void) | undefined
}

/** Maximum number of refused origins that are reported. */
const maxReported = 20

/** Returns the middleware that answers preflights and adds the headers for pages of other origins. */
export function corsMiddleware(options: CorsMiddlewareOptions): Middleware {
  const { policyOf, onRefused } = options
  const variants = new Map<string, Middleware>()
  const reported = new Set<string>()

  /** The middleware of @koa/cors for a policy. Whether the origin is allowed has been decided. */
  const variantOf = ({ any, credentials }: Policy): Middleware => {
    const key = `${any} ${credentials}`
    const known = variants.get(key)
    if (known !== undefined) return known
    const made = options.koaCors({
      origin: any ? '*' : (request: Context) => request.get('Origin'),
      credentials,
      exposeHeaders: [...options.exposedHeaders],
      maxAge: options.maxAgeSeconds,
      // Error responses keep what is set on the context.
      keepHeadersOnError: false,
    }) as Middleware
    variants.set(key, made)
    return made
  }

  const report = (origin: string): void => {
    if (onRefused === undefined || reported.size >= maxReported || reported.has(origin)) return
    reported.add(origin)
    onRefused(origin)
  }

  return (request, next: Next) => {
    const { headers, method } = request.req
    const { origin, host } = headers
    // A preflight has no body. What claims to be one with a body must pass the checks of its head.
    if (origin === undefined || (method === 'OPTIONS' && announcesBody(request.req))) {
      request.vary('Origin')
      return next()
    }
    const wanted = method === 'OPTIONS' ? headers['access-control-request-method'] : undefined
    const policy = policyOf(request, wanted)
    if (wanted !== undefined) {
      request.vary('Access-Control-Request-Method')
      request.vary('Access-Control-Request-Headers')
    }
    if (policy?.allows(origin)) return variantOf(policy)(request, next)
    request.vary('Origin')
    if (!isOwnOrigin(origin, host)) report(origin)
    return next()
  }
}
