import type { Context } from 'koa'
import { messageOf } from '../errors.js'
import type { Logger } from '../log/types.js'
import { readBody } from './body.js'
import { parseQuery } from './query.js'
import type { Route, RouteContext } from './route.js'
import type { Schemas } from './validate.js'

/** The last steps of a matched request: body, validation, handler, answer. */
export function answerRoute(route: Route, schemas: Schemas, warn: Logger | undefined): (ctx: Context) => Promise<void> {
  const validate = schemas.validator(route)
  const check = warn && route.response ? responseWarner(route, schemas, warn) : undefined
  return async (ctx) => {
    const parts = { params: ctx.params ?? {}, query: parseQuery(ctx.querystring), body: undefined as unknown }
    if (!route.probe) parts.body = await readBody(ctx, route)
    validate?.(parts)
    Object.defineProperty(ctx, 'input', { value: parts, configurable: true })
    // Koa starts at 404; a handler that says nothing has succeeded.
    ctx.res.statusCode = 200
    const value = await route.handler(ctx as RouteContext)
    if (value !== undefined) ctx.body = value
    else if (ctx.body === undefined && ctx.respond !== false && ctx.res.statusCode === 200 && !ctx.headerSent) ctx.status = 204
    check?.(ctx)
  }
}

function responseWarner(route: Route, schemas: Schemas, log: Logger): (ctx: Context) => void {
  const checks = new Map(Object.entries(route.response ?? {}).map(([status, schema]) => [Number(status), schemas.responseCheck(schema)]))
  return (ctx) => {
    const check = checks.get(ctx.status)
    if (!check || !isPlain(ctx.body)) return
    try {
      const problems = check(ctx.body)
      if (problems.length > 0) log.warn({ method: route.method, path: route.path, status: ctx.status, problems }, 'an answer does not fit its schema')
    } catch (error) {
      log.warn({ method: route.method, path: route.path, error: messageOf(error) }, 'an answer could not be compared with its schema')
    }
  }
}

/** Whether Koa will send a body as JSON. */
function isPlain(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  if (Array.isArray(body)) return true
  const prototype: unknown = Object.getPrototypeOf(body)
  return prototype === null || prototype === Object.prototype
}
