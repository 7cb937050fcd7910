import { kindOf } from '../util/kind-of.js'
import { suggest } from '../util/suggest.js'

const fields = ['key', 'handler', 'security', 'state', 'replaces']
const keyPattern = /^[A-Za-z][\w.:-]{0,63}$/
const schemeNamePattern = /^[\w.-]+$/

/** Required fields of a security scheme, by its type. */
const schemeFields: ReadonlyMap<unknown, Readonly<Record<string, (value: unknown) => boolean>>> = new Map(
  Object.entries({
    http: { scheme: isText },
    apiKey: { in: (value: unknown) => ['header', 'query', 'cookie'].includes(value as string), name: isText },
    mutualTLS: {},
    oauth2: { flows: isObject },
    openIdConnect: { openIdConnectUrl: isText },
  }),
)

const schemeHelp: Readonly<Record<string, string>> = {
  scheme: 'the name of an HTTP scheme, such as "bearer"',
  in: '"header", "query" or "cookie"',
  name: 'the name of the header, query parameter or cookie',
  flows: 'an OAuth Flows Object',
  openIdConnectUrl: 'the URL of the discovery document',
}

/** Returns the problems of a declared middleware, each with its field and how to fix it. */
export function middlewareProblems(middleware: unknown): readonly string[] {
  if (!isObject(middleware)) return [`it must be an object such as { key, handler }, not ${kindOf(middleware)}; see defineMiddleware`]
  const { key, handler, security, state, replaces } = middleware
  const problems: string[] = []
  for (const field of Object.keys(middleware)) {
    if (fields.includes(field)) continue
    const near = suggest(field, fields)
    problems.push(
      `"${field}" is not a known field; ${near === undefined ? `known fields: ${fields.join(', ')}` : `did you mean "${near}"?`}`,
    )
  }
  if (typeof key !== 'string' || !keyPattern.test(key))
    problems.push('"key" must be 1 to 64 letters, digits, "-", "_", "." or ":" and begin with a letter')
  if (typeof handler !== 'function') problems.push(`"handler" must be a function (ctx, next) => …, not ${kindOf(handler)}`)
  if (security !== undefined) problems.push(...securityProblems(security))
  if (state !== undefined && !(Array.isArray(state) && state.every(isText) && new Set(state).size === state.length))
    problems.push('"state" must be a list of unique field names of ctx.state')
  if (replaces !== undefined && !isText(replaces)) problems.push('"replaces" must be the key of another middleware')
  if (isText(replaces) && replaces === key) problems.push('"replaces" is its own key; name another middleware or omit it')
  return problems
}

function securityProblems(security: unknown): readonly string[] {
  if (!Array.isArray(security) || security.length === 0 || !security.every(isObject))
    return ['"security" must be a non-empty list of objects such as { bearer: { type: "http", scheme: "bearer" } }']
  return security.flatMap((requirement: Readonly<Record<string, unknown>>, i) =>
    Object.entries(requirement).flatMap(([name, scheme]) =>
      schemeNamePattern.test(name)
        ? schemeProblems(`"security[${i}].${name}"`, scheme)
        : [`"security[${i}]" has the invalid scheme name "${name}"; use letters, digits, "-", "_" and "." only`],
    ),
  )
}

function schemeProblems(at: string, scheme: unknown): readonly string[] {
  const needed = isObject(scheme) ? schemeFields.get(scheme.type) : undefined
  if (!isObject(scheme) || needed === undefined) return [`${at} must have a type: ${[...schemeFields.keys()].join(', ')}`]
  return Object.entries(needed)
    .filter(([field, fits]) => !fits(scheme[field]))
    .map(([field]) => `${at} needs "${field}": ${schemeHelp[field]}`)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
