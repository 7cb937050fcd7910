import type { Context } from 'koa'
import { ZinError } from '../errors.js'
import type { Logger } from '../log/types.js'
import { suggest } from '../util/suggest.js'
import { setBodyLimit } from './body.js'
import { httpErrors, methodNotAllowed } from './errors.js'
import { answerRoute } from './handle.js'
import type { MaybePromise, MiddlewareRegistry, Step } from './middleware.js'
import { chain } from './middleware.js'
import { requestContext } from './request-context.js'
import type { HttpMethod, Route, RouteInfo } from './route.js'
import { isStatic, pathProblem, RouteTable, shapeOf } from './router.js'
import { schemaProblems } from './schema-check.js'
import { pathOf } from './target.js'
import type { Schemas } from './validate.js'

/** A route and the plugin it came from. */
export interface Registration {
  readonly plugin: string
  readonly route: Route
}

export interface TableParts {
  readonly registrations: readonly Registration[]
  readonly middleware: MiddlewareRegistry
  readonly rank: (plugin: string) => number
  readonly schemas: Schemas
  readonly bodyLimit: number
  /** Where answers that miss their schema are reported; absent in production. */
  readonly warn: Logger | undefined
}

interface CompiledRoute {
  readonly info: RouteInfo
  readonly bodyLimit: number
  readonly run: Step
}

/** Everything that answers requests, built once and never changed: requests in flight finish on the table they began with. */
export interface LiveTable {
  readonly registrations: readonly Registration[]
  probe(method: string, path: string): Step | undefined
  /** Global middleware, route match, middleware of the route, body, validation, handler. */
  readonly run: Step
}

/** Builds the live table, or throws one ZinError `ZIN_ROUTES_INVALID` that lists every problem. */
export function compileTable(parts: TableParts): LiveTable {
  const problems = findProblems(parts)
  if (problems.length > 0) throw routesInvalid(problems)
  const { registrations, middleware, schemas, bodyLimit, warn } = parts

  const probes = new Map<string, Map<string, Step>>()
  const routes = registrations.map(({ plugin, route }) => {
    const last = answerRoute(route, schemas, warn?.child({ plugin }))
    if (route.probe) probes.set(route.path, (probes.get(route.path) ?? new Map()).set(route.method, last))
    const use = (route.use ?? []).flatMap((key) => middleware.get(key) ?? [])
    const value: CompiledRoute = { info: infoOf({ plugin, route }), bodyLimit: route.bodyLimit ?? bodyLimit, run: chain(use, last) }
    return { method: route.method, path: route.path, value }
  })
  const table = new RouteTable(routes)
  const run = chain(middleware.globals(parts.rank), (ctx) => match(table, ctx))

  return {
    registrations,
    probe: (method, path) => probes.get(path)?.get(method === 'HEAD' ? 'GET' : method),
    run,
  }
}

function match(table: RouteTable<CompiledRoute>, ctx: Context): MaybePromise {
  // The target as it came: middleware that rewrites ctx.url does not change which route, and so which policy, applies.
  const path = pathOf(ctx.originalUrl)
  const method = ctx.req.method ?? 'GET'
  const found = table.find(method, path)
  if (!found) return refuse(table, ctx, method, path)
  const { info, bodyLimit, run } = found.value
  ctx.params = found.params
  setBodyLimit(ctx, bodyLimit)
  const context = requestContext()
  if (context) context.route = info
  return run(ctx)
}

function refuse(table: RouteTable<CompiledRoute>, ctx: Context, method: string, path: string): void {
  const allowed = table.allowed(path)
  if (allowed.length === 0) throw httpErrors.NOT_FOUND(method, path)
  const allow = allowed.join(', ')
  if (method !== 'OPTIONS') throw methodNotAllowed(method, path, allow)
  ctx.status = 204
  ctx.set('Allow', allow)
}

export function infoOf({ plugin, route }: Registration): RouteInfo {
  const { method, path, summary, use = [], probe = false } = route
  return { method, path, plugin, use, summary, probe }
}

interface RouteProblem {
  readonly plugins: readonly string[]
  readonly method: HttpMethod
  readonly path: string
  readonly problem: string
}

function findProblems({ registrations, middleware }: TableParts): readonly RouteProblem[] {
  const problems: RouteProblem[] = []
  const owners = new Map<string, Registration>()
  for (const registration of registrations) {
    const { plugin, route } = registration
    const { method, path } = route
    const add = (problem: string, ...others: string[]): void => void problems.push({ plugins: [plugin, ...others], method, path, problem })

    const bad = pathProblem(path)
    if (bad !== undefined) add(`its path ${bad}`)
    const key = `${method} ${shapeOf(path)}`
    const owner = owners.get(key)
    if (owner) add(`plugin "${owner.plugin}" registered ${owner.route.method} ${owner.route.path} already`, owner.plugin)
    else owners.set(key, registration)
    for (const name of route.use ?? []) {
      if (middleware.get(name)) continue
      const near = suggest(name, middleware.keys)
      add(`no plugin registered the middleware key "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`)
    }
    if (route.probe && !isStatic(path)) add('a probe has a static path')
    if (route.probe && (route.use?.length || route.params || route.query || route.body)) add('a probe takes neither middleware nor input')
    for (const problem of schemaProblems(route)) add(problem)
  }
  return problems
}

function routesInvalid(problems: readonly RouteProblem[]): ZinError {
  const lines = problems.map(({ plugins, method, path, problem }) => `  ${method} ${path} of plugin "${plugins[0]}": ${problem}`)
  const count = problems.length === 1 ? 'One problem' : `${problems.length} problems`
  return new ZinError('ZIN_ROUTES_INVALID', `${count} in the route table:\n${lines.join('\n')}`, { details: problems })
}
