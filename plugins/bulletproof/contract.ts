import type { Context } from 'koa'
import { defineService, type SecurityScheme } from 'zin'
import type { Claims } from 'zin/plugins/jwt'
import type { SignatureProfile } from 'zin/signing'

/** A device without its secret. */
export interface Device {
  readonly deviceId: string
  readonly userId: string
  /** The weakest accepted profile. `v1` accepts both; a device that has signed by `rfc9421` once must keep using it. */
  readonly profile: SignatureProfile
  /** Base64url of the Ed25519 key of a device that signs with its own key and has no secret. */
  readonly publicKey?: string
  readonly label?: string
  /** ms since 1970. */
  readonly createdAt: number
  /** ms since 1970, accurate to a few minutes. */
  readonly lastSeenAt: number
  /** When the device was removed, ms since 1970. */
  readonly removedAt?: number
}

export interface Enrolment {
  /** `String(claims.sub)` of the user's tokens. */
  readonly userId: string
  /**
   * The id that the client requests. It is used when it belongs to a device of the user, which then gets a new secret, or when
   * it is free and well formed (1 to 128 letters, digits or `. _ : -`). Otherwise the user gets a new id. Pass an id from a client
   * only when `get` returns a device of the user: a free id may be the key id of a service with the shared secret.
   */
  readonly deviceId?: string | undefined
  readonly label?: string | undefined
  /** Base64url of the raw Ed25519 key of the device; it then has no secret and signs by RFC 9421 only. */
  readonly publicKey?: string | undefined
}

/** The devices of users and their signing secrets. Every function throws AUTH_STORE_UNAVAILABLE (503) when the store is unavailable. */
export interface Devices {
  /**
   * Creates a device, or gives a device of the user a new secret. The secret is returned here only; it is empty for a device
   * with a public key. Throws DEVICE_PUBLIC_KEY_INVALID (400) when the key is not an Ed25519 key, or is of small order.
   */
  enroll(enrolment: Enrolment): Promise<{ readonly device: Device; readonly secret: string }>
  /** Includes removed devices for as long as their tombstones are kept. */
  get(deviceId: string): Promise<Device | undefined>
  /** The active devices of a user, most recently seen first. */
  list(userId: string): Promise<readonly Device[]>
  /**
   * Removes a device: its secret and its label are erased, and no other secret is accepted for its id. Returns false when the device is not in use, or
   * `userId` is given and is not its owner.
   */
  remove(deviceId: string, userId?: string): Promise<boolean>
  /** Removes all devices of a user. Returns their number. */
  removeAll(userId: string): Promise<number>
}

export const devicesService = defineService<Devices>('bulletproof.devices')

/** The owner of the secret that signed a request. */
export interface Signer {
  readonly kind: 'device' | 'shared' | 'resolved'
  /** As claimed by the request; proven by the secret for `device` only. */
  readonly keyId: string
  /** Owner of the device. */
  readonly userId?: string
}

/** `layer` and `reason` are for logs, never for the caller. */
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
 * Verifies signed requests outside the middleware. Each call reads the body (which stays readable for the route) and uses up the nonce, so
 * call it once per request. Throws AUTH_STORE_UNAVAILABLE (503) when a store is unavailable, and the BODY errors of the body reader.
 */
export interface SignedRequests {
  /** By how much the time of a request may differ from the clock of this node, in ms. */
  readonly windowMs: number
  /** The OpenAPI security scheme of the signature, for the `security` of a middleware that accepts it, under the name `signature`. */
  readonly scheme: SecurityScheme
  /** Whether the request carries signature headers, valid or not. */
  isSigned(ctx: Context): boolean
  /**
   * Checks layers 3 to 7 without a token. `from` selects the accepted secrets: with `shared` alone no device is looked up, so a device id
   * cannot shadow a caller with the shared secret. With `rfc9421` as the weakest profile, requests signed by v1, which does not cover
   * the host, are refused.
   */
  verify(ctx: Context, from: readonly ('shared' | 'device')[], weakest?: SignatureProfile): Promise<SignedBy | Refusal>
  /** Checks all nine layers like the middleware `bulletproof`, but does not attach the user to the request. */
  authenticate(ctx: Context): Promise<SignedUser | Refusal>
}

export const signedRequestsService = defineService<SignedRequests>('bulletproof.signed-requests')
