import type { Context, Middleware } from 'koa'
import { definePlugin, importPackage, messageOf, optional } from 'zin'
import { kvService } from 'zin/plugins/kv'
import { type CallerOf, callerNamer } from './caller.js'
import { kvCounters, MemoryCounters } from './counters.js'
import { rateLimitErrors } from './errors.js'
import { secondsOf, setQuotaHeaders } from './headers.js'
import { type Limiter, limiters } from './limiter.js'
import { rateLimitOptions } from './options.js'
import { checkRoutes, checkRules, middlewareKey, type Rule, rulesOf } from './rules.js'

export type { LimitBy, LimitKey, RateLimitOptions } from './options.js'

declare module 'zin' {
  interface MiddlewareState {
    /** A limit sets nothing. */
    [limit: `rateLimit:${string}`]: object
  }
}

const sweepEveryMs = 30_000

/** Limits requests per caller and time, for all routes and for single ones. */
export const rateLimit = definePlugin({
  name: 'rate-limit',
  version: '1.0.0',
  description: 'Limits requests per address, user, device or key; middleware keys rateLimit:<name>',
  uses: { kv: optional(kvService) },
  packages: { 'rate-limiter-flexible': {} },
  errors: rateLimitErrors,
  options: rateLimitOptions,
  async setup(ctx) {
    const { options, services, clock, log } = ctx
    const inKv = options.store === 'kv' || (options.store === 'auto' && services.kv !== undefined)
    ctx.onCheck(() => {
      checkRules(options, services.kv !== undefined)
      checkRoutes(ctx.host.routes(), rulesOf(options), options.keyHeader)
    })
    ctx.describe(() => (inKv ? services.kv?.driver : 'memory'))

    const makeLimiter = limiters(await importPackage('rate-limiter-flexible', () => import('rate-limiter-flexible')))
    const memory = new MemoryCounters(clock)
    ctx.every(sweepEveryMs, () => memory.sweep())
    const meanwhile = options.whenStoreFails === 'allow' ? 'each process counts alone' : 'requests are refused'
    const shared = kvCounters({
      kv: () => services.kv,
      clock,
      timeoutMs: options.storeTimeoutMs,
      failed: (error) => log.warn({ why: messageOf(error) }, `requests cannot be counted in the store; meanwhile ${meanwhile}`),
      recovered: () => log.info('requests are counted in the store again'),
    })
    const parts = inKv
      ? { counters: shared, fallback: options.whenStoreFails === 'allow' ? memory : undefined, clock }
      : { counters: memory, fallback: undefined, clock }

    for (const rule of rulesOf(options)) {
      const handler = middlewareFor(rule, makeLimiter(rule, parts), callerNamer(rule, options.keyHeader))
      if (rule.place === 'route') ctx.middleware({ key: middlewareKey(rule.name), handler: handler as never })
      else ctx.use(handler, { phase: rule.place === 'before' ? 'limits' : 'guarded' })
    }
  },
})

function middlewareFor(rule: Rule, limiter: Limiter, callerOf: CallerOf): Middleware {
  return async (ctx, next) => {
    const named = isPreflight(ctx) ? undefined : callerOf(ctx)
    const caller = named instanceof Promise ? await named : named
    if (caller === undefined) return next()
    const quota = await limiter.count(caller)
    setQuotaHeaders(ctx, quota)
    if (quota.isOver) throw rateLimitErrors.RATE_LIMITED(rule.name, secondsOf(quota.leftMs))
    return next()
  }
}

/** A CORS preflight runs no handler; the request that it is for is counted. */
const isPreflight = ({ req }: Context): boolean =>
  req.method === 'OPTIONS' && req.headers.origin !== undefined && req.headers['access-control-request-method'] !== undefined
