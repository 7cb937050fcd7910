import type { Context } from 'koa'
import { defineService, type SecurityScheme } from 'zin'
import type { Claims } from 'zin/plugins/jwt'
import type { SignatureProfile } from 'zin/signing'

/** A device without its secret. */
export interface Device {
  readonly deviceId: string
  readonly userId: string
  /** The weakest accepted profile: `v1` accepts both; a device that signed by `rfc9421` once must keep using it. */
  readonly profile: SignatureProfile
  /** Base64url of an Ed25519 key, when the device signs with a key of its own and has no secret. */
  readonly publicKey?: string
  readonly label?: string
  /** ms since 1970. */
  readonly createdAt: number
  /** ms since 1970, exact to a few minutes. */
  readonly lastSeenAt: number
  /** ms since 1970, when the device was removed. */
  readonly removedAt?: number
}

export interface Enrolment {
  /** `String(claims.sub)` of the user's tokens. */
  readonly userId: string
  /**
   * The id that the client requests. It is used when it belongs to a device of the user, which then gets a new secret, or when
   * it is free and well formed (1 to 128 letters, digits or `. _ : -`). Otherwise the user gets a new id. Pass an id from a client
   * only when `get` says that it belongs to the user: a free one may be the key id of a service with the shared secret.
   */
  readonly deviceId?: string | undefined
  readonly label?: string | undefined
  /** Base64url of the raw Ed25519 key of the device; it then has no secret and signs by RFC 9421 only. */
  readonly publicKey?: string | undefined
}

/** The devices of users and their signing secrets. Every function throws AUTH_STORE_UNAVAILABLE (503) when the store is down. */
export interface Devices {
  /**
   * Creates a device, or gives a device of the user a new secret. The secret is returned here only; it is empty for a device
   * with a public key. Throws DEVICE_PUBLIC_KEY_INVALID (400) when the key is not an Ed25519 key, or is of small order.
   */
  enroll(enrolment: Enrolment): Promise<{ readonly device: Device; readonly secret: string }>
  /** Includes removed devices while they are remembered. */
  get(deviceId: string): Promise<Device | undefined>
  /** The devices in use of a user, most recently seen first. */
  list(userId: string): Promise<readonly Device[]>
  /**
   * Removes a device: its secret is erased, and no other secret is accepted for its id. False when it is not in use, or when
   * `userId` is given and is not its owner.
   */
  remove(deviceId: string, userId?: string): Promise<boolean>
  /** Removes all devices of a user. Returns their number. */
  removeAll(userId: string): Promise<number>
}

export const devicesService = defineService<Devices>('bulletproof.devices')

/** Whose secret a request was signed with. */
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
 * Verifies signed requests outside the middleware. Each call reads the body (which stays readable for the route) and uses up
 * the nonce, so call it once per request. Throws AUTH_STORE_UNAVAILABLE (503) when a store is down, and the BODY errors of the body reader.
 */
export interface SignedRequests {
  /** How OpenAPI describes the signature, for the `security` of a middleware that accepts it, under the name `signature`. */
  readonly scheme: SecurityScheme
  /** Whether the request carries signature headers, valid or not. */
  isSigned(ctx: Context): boolean
  /**
   * Layers 3 to 7 without a token. `from` selects the accepted secrets: with `shared` alone no device is looked up, so a device id
   * cannot shadow a caller with the shared secret. With `rfc9421` as the weakest profile, requests
   * signed by v1, which does not cover the host, are refused.
   */
  verify(ctx: Context, from: readonly ('shared' | 'device')[], weakest?: SignatureProfile): Promise<SignedBy | Refusal>
  /** All nine layers, as in the middleware `bulletproof`, without attaching the user. */
  authenticate(ctx: Context): Promise<SignedUser | Refusal>
}

export const signedRequestsService = defineService<SignedRequests>('bulletproof.signed-requests')
