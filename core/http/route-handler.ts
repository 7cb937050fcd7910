import type { Context } from 'koa'
import { messageOf } from '../errors.js'
import type { Logger } from '../log/types.js'
import { isThenable } from '../util/thenable.js'
import type { MaybePromise, Step } from './chain.js'
import { hasOwnStatus, isUntouched, jsonType, rawResponse } from './context.js'
import type { Route, RouteContext } from './route.js'
import type { ResponseSchemas } from './route-types.js'
import { isJson } from './send-stream.js'
import type { Schemas } from './validate.js'

/** Creates the step that calls the handler of a route and sets the returned value on the context. */
export function routeHandler(route: Route, schemas: Schemas, warn: Logger | undefined): Step {
  const check = warn && route.response ? responseWarner(route, schemas, warn) : undefined
  const take = (ctx: Context, value: unknown): void => {
    if (value !== undefined) setBody(ctx, value)
    else if (isUnset(ctx) && ctx.body === undefined && ctx.respond !== false && !rawResponse(ctx).headersSent) ctx.status = 204
    check?.(ctx)
  }
  return (ctx): MaybePromise => {
    const res = rawResponse(ctx)
    // Koa's initial status is 404; a handler has succeeded if neither it nor a middleware sets a status.
    if (res.statusCode === 404 && !hasOwnStatus(ctx)) res.statusCode = 200
    const value = route.handler(ctx as RouteContext)
    return isThenable(value) ? Promise.resolve(value).then((settled) => take(ctx, settled)) : take(ctx, value)
  }
}

/** Whether nothing but the core has set the status. */
const isUnset = (ctx: Context): boolean => rawResponse(ctx).statusCode === 200 && !hasOwnStatus(ctx)

/** Sets the content type of JSON before Koa gets the body, because Koa would look it up for nearly every response. */
function setBody(ctx: Context, value: unknown): void {
  if (!isUntouched(ctx) && isJson(value) && !ctx.res.headersSent && !ctx.res.hasHeader('Content-Type'))
    ctx.res.setHeader('Content-Type', jsonType)
  ctx.body = value
}

function responseWarner(route: Route, schemas: Schemas, log: Logger): (ctx: Context) => void {
  const checks = new Map(
    Object.entries((route.response ?? {}) as ResponseSchemas).map(([status, schema]) => [Number(status), schemas.responseCheck(schema)]),
  )
  const { method, path } = route
  const tell = (status: number, problems: readonly string[]): void => {
    if (problems.length > 0) log.warn({ method, path, status, problems }, 'the response does not match its schema')
  }
  const giveUp = (error: unknown): void =>
    log.warn({ method, path, error: messageOf(error) }, 'the response could not be validated against its schema')
  return (ctx) => {
    const check = checks.get(ctx.status)
    if (!check || !isJson(ctx.body)) return
    try {
      const found = check(ctx.body)
      if (found instanceof Promise) found.then((problems) => tell(ctx.status, problems)).catch(giveUp)
      else tell(ctx.status, found)
    } catch (error) {
      giveUp(error)
    }
  }
}
