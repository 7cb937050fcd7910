import type { Context } from 'koa'
import { defineService, type SecurityScheme } from 'zin'
import type { Claims } from 'zin/plugins/jwt'
import type { SignatureProfile } from 'zin/signing'

/** Whose secret a request was signed with. */
export interface Signer {
  readonly kind: 'device' | 'shared' | 'resolved'
  /** As the request says it. Only for `device` does the secret prove it. */
  readonly keyId: string
  /** Owner of the device. */
  readonly userId?: string
}

/** A refusal. `layer` and `reason` are for logs, never for the caller. */
export interface Refusal {
  readonly ok: false
  readonly layer: number
  readonly reason: string
}

export interface SignedBy {
  readonly ok: true
  readonly signer: Signer
}

export interface SignedUser extends SignedBy {
  /** Claims of the verified token. */
  readonly claims: Claims
}

/**
 * Checks signed requests outside of the middleware. Each check reads the body (it stays readable for the route) and uses up
 * the nonce, so ask once per request. Throws AUTH_STORE_UNAVAILABLE (503) when a store is down, BODY errors as the body reader does.
 */
export interface SignedRequests {
  /** How OpenAPI describes the signature, for the `security` of a middleware that takes it, under the name `signature`. */
  readonly scheme: SecurityScheme
  /** Whether the request carries signature headers, good or bad. */
  isSigned(ctx: Context): boolean
  /**
   * Layers 3 to 7 without a token. `from` says whose secrets count: with `shared` alone no device is looked up, so that no
   * device's id can stand in the way of a caller that holds the shared secret. With `rfc9421` as the weakest profile a request
   * signed by v1, which does not cover the host, is refused.
   */
  verify(ctx: Context, from: readonly ('shared' | 'device')[], weakest?: SignatureProfile): Promise<SignedBy | Refusal>
  /** All nine layers, as the middleware `bulletproof` does them, but for attaching the user. */
  authenticate(ctx: Context): Promise<SignedUser | Refusal>
}

export const signedRequestsService = defineService<SignedRequests>('bulletproof.signed-requests')
