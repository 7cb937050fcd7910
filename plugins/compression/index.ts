import { definePlugin, importPackage } from 'zin'
import { decoders } from './decoders.js'
import { compressionErrors } from './errors.js'
import { compressionMiddleware } from './middleware.js'
import { compressionOptions } from './options.js'

export type { CompressionOptions } from './options.js'

declare module 'zin' {
  interface RouteFields {
    /**
     * Whether the plugin compression may compress responses of the route. False: never, such as for secrets in a body that also contains
     * what the request says. True: also with `Cache-Control: no-store`. Default: without it.
     */
    readonly compress?: boolean
  }
}

/** Compresses responses, and decompresses bodies of requests. */
export const compression = definePlugin({
  name: 'compression',
  version: '1.0.0',
  description: 'Compressed responses and request bodies',
  packages: { 'koa-compress': {} },
  errors: compressionErrors,
  options: compressionOptions,
  async setup(ctx) {
    const { encodings, minBytes, requestBodies } = ctx.options
    const { default: koaCompress } = await importPackage('koa-compress', () => import('koa-compress'))
    ctx.routeField('compress', (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'))
    ctx.wrap(compressionMiddleware({ koaCompress, encodings, minBytes, routeOf: (request) => ctx.routeOf(request) }))
    if (requestBodies) for (const [coding, decode] of decoders) ctx.bodyDecoder(coding, decode)
  },
})
