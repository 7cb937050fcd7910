import { definePlugin, importPackage, messageOf, preparedHeaders } from 'zin'
import { securityHeadersService } from './contract.js'
import { securityHeadersErrors } from './errors.js'
import { headersOf, policyText } from './headers.js'
import { securityHeadersOptions } from './options.js'

export type { SecurityHeaders } from './contract.js'
export { securityHeadersService } from './contract.js'
export type { SecurityHeadersOptions } from './options.js'

/** Headers that make browsers handle responses strictly. */
export const securityHeaders = definePlugin({
  name: 'security-headers',
  version: '1.0.0',
  description: 'Headers that make browsers handle responses strictly, with defaults for an API',
  provides: [securityHeadersService],
  packages: { 'koa-helmet': {} },
  errors: securityHeadersErrors,
  options: securityHeadersOptions,
  async setup(ctx) {
    const { options } = ctx
    const { default: helmet } = await importPackage('koa-helmet', () => import('koa-helmet'))
    const invalid = (error: unknown) => securityHeadersErrors.SECURITY_HEADERS_INVALID(messageOf(error))
    try {
      const setHeaders = preparedHeaders(await headersOf(helmet, options))
      const pagePolicy = options.pages === false ? undefined : await policyText(helmet, options.pages)
      ctx.provide(securityHeadersService, { pagePolicy })
      ctx.wrap((request, next) => {
        setHeaders(request)
        return next()
      })
    } catch (error) {
      ctx.provide(securityHeadersService, { pagePolicy: undefined })
      ctx.onCheck(() => {
        throw invalid(error)
      })
    }
  },
})
