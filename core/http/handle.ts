import type { Context } from 'koa'
import { messageOf } from '../errors.js'
import type { Logger } from '../log/types.js'
import { readBody } from './body.js'
import { announcesBody } from './headers.js'
import type { MaybePromise, Step } from './middleware.js'
import { parseQuery } from './query.js'
import { isJson } from './reply.js'
import type { Route, RouteContext } from './route.js'
import type { ResponseSchemas } from './route-types.js'
import { queryOf } from './target.js'
import type { Schemas } from './validate.js'

/** The last steps of a matched request: body, validation, handler, answer. */
export function answerRoute(route: Route, schemas: Schemas, warn: Logger | undefined): Step {
  const validate = schemas.validator(route)
  const check = warn && route.response ? responseWarner(route, schemas, warn) : undefined

  const answer = (ctx: Context, body: unknown): MaybePromise => {
    const input = { params: ctx.params ?? {}, query: parseQuery(queryOf(ctx.originalUrl)), body }
    validate?.(input)
    ctx.input = input
    // Koa starts at 404; a handler that says nothing has succeeded.
    ctx.res.statusCode = 200
    const value = route.handler(ctx as RouteContext)
    return isThenable(value) ? Promise.resolve(value).then((settled) => take(ctx, settled)) : take(ctx, value)
  }
  const take = (ctx: Context, value: unknown): void => {
    if (value !== undefined) ctx.body = value
    else if (ctx.res.statusCode === 200 && ctx.body === undefined && ctx.respond !== false && !ctx.res.headersSent) ctx.status = 204
    check?.(ctx)
  }

  if (route.probe) return (ctx) => answer(ctx, undefined)
  return (ctx) => {
    if (!announcesBody(ctx.req)) return answer(ctx, route.bodyType === 'raw' ? Buffer.alloc(0) : undefined)
    const body = readBody(ctx, route)
    return body instanceof Promise ? body.then((read) => answer(ctx, read)) : answer(ctx, body)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

function responseWarner(route: Route, schemas: Schemas, log: Logger): (ctx: Context) => void {
  const checks = new Map(
    Object.entries((route.response ?? {}) as ResponseSchemas).map(([status, schema]) => [Number(status), schemas.responseCheck(schema)]),
  )
  return (ctx) => {
    const check = checks.get(ctx.status)
    if (!check || !isJson(ctx.body)) return
    try {
      const problems = check(ctx.body)
      if (problems.length > 0)
        log.warn({ method: route.method, path: route.path, status: ctx.status, problems }, 'the response does not match its schema')
    } catch (error) {
      log.warn({ method: route.method, path: route.path, error: messageOf(error) }, 'the response could not be compared with its schema')
    }
  }
}
