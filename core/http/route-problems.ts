import { suggest } from '../util/suggest.js'
import { httpErrors } from './errors.js'
import { middlewareProblems } from './middleware-check.js'
import type { MiddlewareRegistry } from './middleware-registry.js'
import type { HttpMethod, Registration } from './route.js'
import type { RouteFieldChecks } from './route-fields.js'
import { isStatic, pathProblem, shapeOf } from './router.js'
import { schemaProblems } from './schema-check.js'
import { serializerOf } from './serializers.js'

/** Throws one `ZIN_ROUTES_INVALID` that lists all problems of the routes and the middleware of an app. */
export function checkRoutes(
  registrations: readonly Registration[],
  middleware: MiddlewareRegistry,
  fields: RouteFieldChecks,
  readsFiles = false,
): void {
  const ofMiddleware = middleware.problems()
  const ofRoutes = routeProblems(registrations, middleware, fields, readsFiles)
  const lines = [
    ...ofMiddleware.map(({ plugins, key, problem }) => `middleware "${key}" of plugin "${plugins[0]}": ${problem}`),
    ...ofRoutes.map(({ plugins, method, path, problem }) => `${method} ${path} of plugin "${plugins[0]}": ${problem}`),
  ]
  if (lines.length > 0) throw httpErrors.ZIN_ROUTES_INVALID(lines, [...ofMiddleware, ...ofRoutes])
}

interface RouteProblem {
  readonly plugins: readonly string[]
  readonly method: HttpMethod
  readonly path: string
  readonly problem: string
}

function routeProblems(
  registrations: readonly Registration[],
  middleware: MiddlewareRegistry,
  fields: RouteFieldChecks,
  readsFiles: boolean,
): readonly RouteProblem[] {
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
    if (owner) add(`plugin "${owner.plugin}" already registered ${owner.route.method} ${owner.route.path}`, owner.plugin)
    else owners.set(key, registration)
    for (const name of route.use ?? []) {
      if (typeof name !== 'string') {
        for (const bad of middlewareProblems(name)) add(`a middleware in its "use": ${bad}`)
        continue
      }
      if (middleware.ownerOf(name) !== undefined) continue
      const near = suggest(name, middleware.keys)
      add(`no plugin registered the middleware key "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`)
    }
    if (route.probe && !isStatic(path)) add('a probe must have a static path')
    if (route.context === false && !isStatic(path)) add('a route without a request context must have a static path')
    const filesField = route.files ? 'files' : route.streamFile ? 'streamFile' : undefined
    if (filesField && route.bodyType !== 'form') add(`its "${filesField}" needs bodyType: 'form'`)
    if (filesField && !readsFiles) add(`its "${filesField}" needs a plugin that reads forms (ctx.formReader), such as one for uploads`)
    if (route.upgrade && (method !== 'GET' || route.probe)) add('only a GET route that is not a probe can take over connections')
    if (route.probe && (route.use?.length || route.params || route.query || route.body)) add('a probe must not have middleware or input')
    for (const problem of fields.problems(route)) add(problem)
    const wrong = schemaProblems(route)
    for (const problem of wrong) add(problem)
    const serializer = wrong.length > 0 ? undefined : serializerOf(route)
    if (serializer !== undefined && 'problem' in serializer) add(serializer.problem)
  }
  return problems
}
