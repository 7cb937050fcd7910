import type { Context } from 'koa'
import { clientNetwork, defineMiddleware, type RouteMiddleware } from 'zin'
import { type Actor, crossSiteProblem, type Ops } from 'zin/plugins/ops'
import { monitorErrors } from '../errors.js'
import { type Credential, type Credentials, includes } from './credentials.js'
import type { MonitorPermission, Scope } from './scope.js'
import type { FailureThrottle } from './throttle.js'

export interface GuardParts {
  readonly ops: () => Ops
  readonly credentials: Credentials
  readonly throttle: FailureThrottle
}

/** The names of the permissions in `ops`. */
const opsPermissions: Readonly<Record<Exclude<MonitorPermission, 'read'>, string>> = {
  write: 'queues:write',
  admin: 'queues:admin',
  'payload:read': 'payload:read',
}

const schemes = {
  basic: { type: 'http', scheme: 'basic' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
} as const

/**
 * Authenticates callers of the monitor by basic auth, an API key (`x-api-key`), or the guard `ops`. Wrong credentials are rejected even
 * where none are required.
 */
export class MonitorGuard {
  readonly #parts: GuardParts
  readonly #scopes = new WeakMap<object, Scope>()

  constructor(parts: GuardParts) {
    this.#parts = parts
  }

  get middleware(): RouteMiddleware {
    return defineMiddleware({
      key: 'monitor',
      security: [{ monitorBasic: schemes.basic }, { monitorKey: schemes.apiKey }],
      handler: async (ctx, next) => {
        this.#scopes.set(ctx.req, await this.#enter(ctx))
        ctx.set('Cache-Control', 'no-store')
        return next()
      },
    })
  }

  /** Returns the scope of an authenticated request. Throws MONITOR_UNAUTHORIZED for any other request. */
  scope(ctx: Context): Scope {
    const scope = this.#scopes.get(ctx.req)
    if (scope === undefined) throw monitorErrors.MONITOR_UNAUTHORIZED()
    return scope
  }

  async #enter(ctx: Context): Promise<Scope> {
    const { ops } = this.#parts
    const credential = this.#given(ctx)
    if (credential === undefined) {
      const { actor } = await ops().check(ctx)
      return {
        actor,
        queues: '*',
        sees: () => true,
        may: (permission) => permission === 'read' || ops().allow(ctx, opsPermissions[permission]),
        granted: (permission) => permission !== 'read' && ops().grants(ctx, opsPermissions[permission]),
      }
    }
    const { grant, id, kind } = credential
    const actor: Actor = { kind, id, via: ctx.req.headers['x-requested-with'] === 'zin-cli' ? 'cli' : 'http' }
    return {
      actor,
      queues: grant.queues,
      sees: (queue) => grant.queues === '*' || grant.queues.includes(queue),
      may: (permission) => includes(grant.permissions, permission),
      granted: (permission) => includes(grant.permissions, permission),
    }
  }

  /** Returns the caller identified by credentials of the monitor; undefined if the request has none. */
  #given(ctx: Context): Credential | undefined {
    const { credentials, throttle } = this.#parts
    const { authorization, 'x-api-key': key } = ctx.req.headers
    // Whatever follows the scheme are credentials, also if they are malformed.
    const basic = /^Basic(?: +(.*))?$/i.exec(authorization ?? '')
    if (basic === null && key === undefined) return undefined
    const credential = typeof key === 'string' ? credentials.key(key) : credentials.basic(basic?.[1] ?? '')
    if (credential === undefined) {
      const network = clientNetwork(ctx.ip)
      const wait = throttle.waitSeconds(network)
      // Right credentials always pass: whoever shares the network with an attacker is not locked out.
      if (wait > 0) throw monitorErrors.MONITOR_AUTH_THROTTLED(wait)
      throttle.failed(network)
      throw monitorErrors.MONITOR_UNAUTHORIZED()
    }
    if (credential.kind === 'user') checkSite(ctx)
    return credential
  }
}

/** CSRF protection: browsers send basic credentials automatically, so requests from other sites are rejected. */
function checkSite({ method, req }: Context): void {
  const problem = crossSiteProblem({ method, headers: req.headers })
  if (problem !== undefined) throw monitorErrors.MONITOR_FORBIDDEN(problem)
}
