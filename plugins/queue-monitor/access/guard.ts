import type { Context } from 'koa'
import { clientNetwork, defineMiddleware, type RouteMiddleware } from 'zin'
import type { Actor, Ops } from 'zin/plugins/ops'
import { monitorErrors } from '../errors.js'
import { type Credential, type Credentials, includes } from './credentials.js'
import type { MonitorPermission, Scope } from './scope.js'
import type { FailureThrottle } from './throttle.js'

export interface GuardParts {
  readonly ops: () => Ops
  readonly credentials: Credentials
  readonly throttle: FailureThrottle
}

/** The permissions as `ops` knows them. */
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
 * Decides who may use the monitor: basic auth, an API key (`x-api-key`), or whoever passes the guard `ops`. Credentials that were sent
 * and are wrong are refused, even where none would be needed.
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

  /** The scope of a request that passed. */
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

  /** The caller that the request names; undefined when it names none of the monitor's. */
  #given(ctx: Context): Credential | undefined {
    const { credentials, throttle } = this.#parts
    const { authorization, 'x-api-key': key } = ctx.req.headers
    const basic = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '')?.[1]
    if (basic === undefined && key === undefined) return undefined
    const network = clientNetwork(ctx.ip)
    const wait = throttle.waitSeconds(network)
    if (wait > 0) throw monitorErrors.MONITOR_AUTH_THROTTLED(wait)
    const credential = typeof key === 'string' ? credentials.key(key) : credentials.basic(basic ?? '')
    if (credential === undefined) {
      throttle.failed(network)
      throw monitorErrors.MONITOR_UNAUTHORIZED()
    }
    if (credential.kind === 'user') checkSite(ctx)
    return credential
  }
}

/** Browsers send basic credentials by themselves, so a page of another site must not be able to use them. */
function checkSite(ctx: Context): void {
  const { host, origin, 'sec-fetch-site': site, 'content-type': type = '', 'x-requested-with': asked } = ctx.req.headers
  const foreign = origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`
  if (foreign || (site !== undefined && site !== 'same-origin' && site !== 'none')) {
    throw monitorErrors.MONITOR_FORBIDDEN('The request comes from a page of another site')
  }
  if (ctx.method === 'GET' || ctx.method === 'HEAD' || asked !== undefined || /^application\/json\s*(;|$)/i.test(type)) return
  throw monitorErrors.MONITOR_FORBIDDEN(
    'A request that changes something requires Content-Type: application/json or the header X-Requested-With',
  )
}
