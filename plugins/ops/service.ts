import type { Context } from 'koa'
import {
  defineMiddleware,
  HostCheck,
  noteAccess,
  type RequestContext,
  type RouteMiddleware,
  requestContext,
  type SecurityRequirement,
  withinAuthBudget,
} from 'zin'
import type { SignedRequests } from 'zin/plugins/bulletproof'
import { bearerScheme, type Claims, type Tokens } from 'zin/plugins/jwt'
import type { Actor, Ops, OpsAccess } from './contract.js'
import { opsErrors } from './errors.js'
import { isForwarded, localProblem } from './local.js'
import { loopbackNames } from './mode.js'

export interface GuardParts {
  readonly mode: 'open' | 'required'
  readonly roles: readonly string[]
  /** Permission → roles that have it; a permission that is not listed is granted to every caller with access. */
  readonly permissions: Readonly<Record<string, readonly string[]>>
  readonly bindHost: string
  /** Port that the app listens on, once it does. */
  readonly port: () => number | undefined
  readonly tokens: () => Tokens | undefined
  readonly signed: () => SignedRequests | undefined
}

interface SignedUser {
  readonly claims: Claims
  readonly device?: string
}

/** Decides who may operate the app: the middleware `ops` and the permission checks. */
export class OpsGuard implements Ops {
  readonly #parts: GuardParts
  readonly #granted = new WeakMap<object, OpsAccess>()
  readonly #actors = new WeakMap<RequestContext, Actor>()
  readonly #hosts: HostCheck
  #port: number | undefined

  constructor(parts: GuardParts) {
    this.#parts = parts
    this.#hosts = new HostCheck(loopbackNames(parts.bindHost))
  }

  get mode(): 'open' | 'required' {
    return this.#parts.mode
  }

  get middleware(): RouteMiddleware {
    const security = this.#security()
    return defineMiddleware({
      key: 'ops',
      ...(security.length > 0 && { security }),
      handler: async (ctx, next) => {
        await this.check(ctx)
        ctx.set('Cache-Control', 'no-store')
        return next()
      },
    })
  }

  /** The shared secret, a token without a device, or a token with the signature of its device. */
  #security(): readonly SecurityRequirement[] {
    const signed = this.#parts.signed()
    const signature = signed && { signature: signed.scheme }
    const bearer = this.#parts.tokens() && { bearer: bearerScheme }
    return [signature, bearer, signature && bearer && { ...bearer, ...signature }].filter((one) => one !== undefined)
  }

  async check(ctx: Context): Promise<OpsAccess> {
    const access = await this.#enter(ctx)
    this.#granted.set(ctx.req, access)
    const context = requestContext()
    if (context !== undefined) this.#actors.set(context, access.actor)
    return access
  }

  access(ctx: Context): OpsAccess | undefined {
    return this.#granted.get(ctx.req)
  }

  actor(): Actor | undefined {
    const context = requestContext()
    return context === undefined ? undefined : this.#actors.get(context)
  }

  allow(ctx: Context, permission: string): boolean {
    const access = this.access(ctx)
    if (access === undefined) return false
    if (access.kind !== 'token') return true
    const { roles, permissions } = this.#parts
    const allowed = Object.hasOwn(permissions, permission) ? (permissions[permission] ?? []) : roles
    return access.role !== undefined && allowed.includes(access.role)
  }

  grants(ctx: Context, permission: string): boolean {
    const { permissions } = this.#parts
    return Object.hasOwn(permissions, permission) && this.access(ctx)?.kind === 'token' && this.allow(ctx, permission)
  }

  demand(ctx: Context, permission: string): void {
    if (!this.allow(ctx, permission)) throw opsErrors.FORBIDDEN(`This requires the permission ${permission}`)
  }

  async #enter(ctx: Context): Promise<OpsAccess> {
    const { mode, signed } = this.#parts
    const { headers } = ctx.req
    if (mode === 'required' || isForwarded(headers)) return this.#identify(ctx)
    const problem = localProblem({ method: ctx.method, headers, signed: signed()?.isSigned(ctx) ?? false }, (host) =>
      this.#acceptsHost(host),
    )
    if (problem !== undefined) throw problem
    return { kind: 'open', actor: { kind: 'local', id: 'local', via: viaOf(ctx) } }
  }

  async #identify(ctx: Context): Promise<OpsAccess> {
    const bearer = ctx.req.headers.authorization
    const signed = this.#parts.signed()
    const isSigned = signed?.isSigned(ctx) ?? false
    if (bearer === undefined && isSigned && signed !== undefined) {
      // Without a token only the signature identifies the target app of a request, so it must cover the host.
      const result = await signed.verify(ctx, ['shared'], 'rfc9421')
      if (!result.ok) throw opsErrors.UNAUTHORIZED()
      return { kind: 'signed', actor: { kind: 'key', id: result.signer.keyId, via: viaOf(ctx) } }
    }
    if (bearer === undefined) throw opsErrors.UNAUTHORIZED()
    const { claims, device }: SignedUser =
      isSigned && signed !== undefined ? await this.#signedUser(ctx, signed) : { claims: await this.#bareClaims(ctx, bearer) }
    const { role, sub } = claims
    if (typeof role !== 'string' || !this.#parts.roles.includes(role)) throw opsErrors.FORBIDDEN('Your role may not operate this app')
    const actor: Actor = { kind: 'user', id: String(sub ?? ''), ...(device === undefined ? {} : { device }), via: viaOf(ctx) }
    return { kind: 'token', actor, role }
  }

  async #signedUser(ctx: Context, signed: SignedRequests): Promise<SignedUser> {
    const result = await signed.authenticate(ctx)
    if (!result.ok) throw opsErrors.UNAUTHORIZED()
    const { claims, signer } = result
    return signer.kind === 'device' ? { claims, device: signer.keyId } : { claims }
  }

  /** A token that is bound to a device is valid only with the device's signature. */
  async #bareClaims(ctx: Context, authorization: string): Promise<Claims> {
    const tokens = this.#parts.tokens()
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization)?.[1]
    if (tokens === undefined || token === undefined) throw opsErrors.UNAUTHORIZED()
    const claims = verified(tokens, token)
    if (claims === undefined || claims.deviceId !== undefined) throw opsErrors.UNAUTHORIZED()
    if (await withinAuthBudget(ctx, () => tokens.isRevoked(claims))) throw opsErrors.UNAUTHORIZED()
    noteAccess(ctx, () => tokens.access(claims))
    return claims
  }

  #acceptsHost(host: string | undefined): boolean {
    const port = this.#parts.port()
    if (port !== undefined && port !== this.#port) {
      this.#hosts.setPort(port)
      this.#port = port
    }
    return this.#hosts.accepts(host)
  }
}

/** As the CLI claims; not verified. */
function viaOf(ctx: Context): Actor['via'] {
  return ctx.req.headers['x-requested-with'] === 'zin-cli' ? 'cli' : 'http'
}

function verified(tokens: Tokens, token: string): Claims | undefined {
  try {
    return tokens.verify(token)
  } catch {
    return undefined
  }
}
