import { createHash } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import {
  announcesBody,
  captureBody,
  isSigned,
  KEY_ID_PATTERN,
  type Logger,
  type NotifySlot,
  noteAccess,
  type Responders,
  requestContext,
  type SignatureHeaderNames,
  type SignatureProfile,
} from 'zin'
import { authBudget, type Claims } from 'zin/plugins/jwt'
import { unauthorizedBody } from './errors.js'
import type { AuthDecision } from './hooks.js'
import { after, type Pending } from './pending.js'
import type { Refusal, SignedBy, SignedRequests, SignedUser } from './signed-requests.js'
import type { Incoming, Verification } from './verification.js'

export interface HttpParts {
  readonly verification: Verification
  readonly names: SignatureHeaderNames
  readonly decisions: NotifySlot<[decision: AuthDecision]>
  readonly log: Logger
}

/** The checks on Koa's context. Every decision is told to the hook and the log. */
export class HttpChecks implements SignedRequests {
  readonly #parts: HttpParts

  constructor(parts: HttpParts) {
    this.#parts = parts
  }

  isSigned(ctx: Context): boolean {
    return isSigned(ctx.req.headers, this.#parts.names)
  }

  async verify(ctx: Context, from: readonly ('shared' | 'device')[], weakest: SignatureProfile = 'v1'): Promise<SignedBy | Refusal> {
    return this.#told(ctx, await this.#parts.verification.verify(incomingOf(ctx), from, weakest))
  }

  async authenticate(ctx: Context): Promise<SignedUser | Refusal> {
    return this.decide(ctx, (result) => result)
  }

  /** {@link authenticate} and what is made of it, at once when no store and no body has to be waited for. */
  decide<T>(ctx: Context, use: (result: SignedUser | Refusal) => Pending<T>): Pending<T> {
    return after(this.#parts.verification.authenticate(incomingOf(ctx)), (result) => {
      if (result.ok) noteAccess(ctx, () => this.#parts.verification.accessOf(result))
      return use(this.#told(ctx, result))
    })
  }

  #told<R extends SignedBy | Refusal>(ctx: Context, result: R): R {
    const { names, decisions, log } = this.#parts
    if (result.ok && !decisions.active) return result
    // Under RFC 9421 the key id is a parameter of the signature; the device id must be the same.
    const keyIdHash = hashOfKeyId(ctx.req.headers[names.keyId] ?? ctx.req.headers[names.deviceId])
    const layer = result.ok ? undefined : result.layer
    if (!result.ok) log.info({ layer, reason: result.reason, keyIdHash, path: ctx.path }, 'signed request refused')
    if (decisions.active) decisions.call({ layer, outcome: result.ok ? 'accepted' : 'refused', keyIdHash, path: ctx.path })
    return result
  }
}

/** The middleware behind the key `bulletproof`. */
export function bulletproofMiddleware(checks: Pick<HttpChecks, 'decide'>, responders: () => Responders): Middleware {
  return (ctx, next) =>
    checks.decide(ctx, (result) => {
      if (!result.ok) return refuse(ctx, responders().bulletproof)
      attachUser(ctx, result.claims)
      ctx.state.signer = result.signer
      return next()
    })
}

/** One answer for every layer, to the byte. */
async function refuse(ctx: Context, responder: Responders[string]): Promise<void> {
  ctx.status = 401
  ctx.set('WWW-Authenticate', 'Bearer')
  ctx.set('Cache-Control', 'no-store')
  const body = responder === undefined ? unauthorizedBody : await responder(ctx, unauthorizedBody.reason)
  if (body !== undefined) ctx.body = body
}

function attachUser(ctx: Context, claims: Claims): void {
  Object.assign(ctx.request, { user: claims })
  ctx.state.user = claims
  const context = requestContext()
  if (context !== undefined && claims.sub !== undefined) context.userId = String(claims.sub)
}

const noBytes = new Uint8Array(0)

function incomingOf(ctx: Context): Incoming {
  return {
    method: ctx.req.method ?? '',
    // Koa's own url may have been rewritten by a middleware; what was signed is what came.
    target: ctx.originalUrl,
    rawHeaders: ctx.req.rawHeaders,
    verified: ctx.state.tokenVerified as Claims | undefined,
    waits: authBudget(ctx),
    body: () => (announcesBody(ctx.req) ? captureBody(ctx) : noBytes),
  }
}

function hashOfKeyId(keyId: unknown): string {
  if (typeof keyId !== 'string' || !KEY_ID_PATTERN.test(keyId)) return ''
  return createHash('sha256').update(keyId).digest('hex').slice(0, 16)
}
