import { captureBody, definePlugin, type Plugin } from 'zin'
import type { ServiceAuth } from '../../auth/contract.js'
import { microserviceErrors } from '../../errors.js'
import { type TracingOptions, tracingMiddleware } from '../../tracing/middleware.js'

export interface FrontOptions {
  readonly auth: ServiceAuth
  readonly tracing: TracingOptions
}

const bodyLimit = 10_485_760

/**
 * Plugin that handles tracing and authentication before all routes of a service except probes. It is part of the service's app, so no
 * second port is needed.
 */
export function serviceFront({ auth, tracing }: FrontOptions): Plugin {
  const front = definePlugin({
    name: 'service-front',
    version: '1.0.0',
    description: 'Authenticates callers of the service',
    errors: { SERVICE_UNAUTHORIZED: microserviceErrors.SERVICE_UNAUTHORIZED },
    setup({ log, use }) {
      use(tracingMiddleware({ ...tracing, log }))
      use(async (ctx, next) => {
        const { headers, method = 'GET', rawHeaders, url = '/' } = ctx.req
        const why = await auth.refusal({ method, path: url, headers, rawHeaders, body: () => captureBody(ctx, bodyLimit) })
        if (why === undefined) return next()
        log.debug({ path: ctx.path, why }, 'call to the service refused')
        throw microserviceErrors.SERVICE_UNAUTHORIZED(why)
      })
    },
  })
  return front()
}
