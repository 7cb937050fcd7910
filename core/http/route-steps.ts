import type { Context, Middleware } from 'koa'
import type { Logger } from '../log/types.js'
import { type BodyReaders, bodyStep } from './body.js'
import { chain, type MaybePromise, type Step } from './chain.js'
import { parseQuery } from './query.js'
import type { Route } from './route.js'
import { routeHandler } from './route-handler.js'
import { queryOf } from './target.js'
import { acceptUpgrade, upgradeOf } from './upgrade.js'
import type { RequestParts, Schemas } from './validate.js'

/** The middleware of a route. */
export interface RouteMiddlewares extends OfEveryRoute {
  /** Those that its `use` lists. */
  readonly guards: readonly Middleware[]
}

/** Middleware that runs for every route. */
export interface OfEveryRoute {
  /** After the middleware of the route. */
  readonly guarded: readonly Middleware[]
  /** Once the body has been read, before it is validated. */
  readonly parsed: readonly Middleware[]
}

/**
 * Creates phases 7 to 12 of a route.
 *
 * @param steps its middleware, and that of every route, in order.
 * @param warn logger for responses that do not match their schema; undefined: they are not checked.
 */
export function routeSteps(route: Route, steps: RouteMiddlewares, readers: BodyReaders, schemas: Schemas, warn: Logger | undefined): Step {
  const validate = schemas.validator(route)
  const handler = routeHandler(route, schemas, warn)
  const { upgrade } = route
  const { guards, guarded, parsed } = steps
  const check = schemas.reader(upgrade?.message)
  const accept = (ctx: Context): MaybePromise => {
    const opened = upgrade && upgradeOf(ctx)
    return opened ? acceptUpgrade(ctx, upgrade, opened, check) : handler(ctx)
  }
  const last = upgrade === undefined ? handler : accept
  // 11. validation, 12. handler
  const valid = (ctx: Context): MaybePromise => {
    const checked = validate?.(ctx.input as RequestParts)
    return checked === undefined ? last(ctx) : checked.then(() => last(ctx))
  }
  // 10. middleware of requests whose body has been read
  const handle = route.probe ? valid : chain(parsed, valid)
  const serve = (ctx: Context, body: unknown): MaybePromise => {
    const input: RequestParts = { params: ctx.params ?? {}, query: parseQuery(queryOf(ctx.originalUrl)), body }
    ctx.input = input
    return handle(ctx)
  }
  if (route.probe) return (ctx) => serve(ctx, undefined)

  // 7. middleware of the route, 8. limits of known callers, 9. body
  const run = chain([...guards, ...guarded], bodyStep(route, readers, serve))
  if (upgrade?.prepare === undefined) return run
  return (ctx) => {
    if (upgradeOf(ctx)) upgrade.prepare?.(ctx)
    return run(ctx)
  }
}
