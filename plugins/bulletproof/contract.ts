import type { Context } from 'koa'
import { defineService, type SecurityScheme } from 'zin'
import type { Claims } from 'zin/plugins/jwt'
import type { SignatureProfile } from 'zin/signing'

/** A device without its secret. */
export interface Device {
  readonly deviceId: string
  readonly userId: string
  /** The weakest way of signing that is taken: `v1` lets both pass; a device that signed by `rfc9421` once keeps to it. */
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
  /** `String(claims.sub)` of the tokens that the user gets. */
  readonly userId: string
  /**
   * The id that the client asks for. It is taken when it is the user's own device, which then gets a new secret, or when
   * nobody has it and it is well formed (1 to 128 letters, digits or `. _ : -`). Otherwise the user gets a new id. Pass an id that a
   * client names only when `get` says that it is the user's: a free one may be the key id of a service with the shared secret.
   */
  readonly deviceId?: string | undefined
  readonly label?: string | undefined
  /** Base64url of the raw Ed25519 key that the device signs with; it then gets no secret, and signs by RFC 9421 only. */
  readonly publicKey?: string | undefined
}

/** The devices of users and their signing secrets. Every function throws AUTH_STORE_UNAVAILABLE (503) when the store is down. */
export interface Devices {
  /**
   * Makes a device, or gives an own one a new secret. The secret is in this answer and nowhere else; it is empty for a device
   * with a public key. Throws DEVICE_PUBLIC_KEY_INVALID (400) for what is no Ed25519 key, or a key of small order.
   */
  enroll(enrolment: Enrolment): Promise<{ readonly device: Device; readonly secret: string }>
  /** Removed ones too, while they are remembered. */
  get(deviceId: string): Promise<Device | undefined>
  /** A user's devices that are in use, last seen first. */
  list(userId: string): Promise<readonly Device[]>
  /**
   * Ends a device: its secret is erased, and its id falls back to no other secret. False when it is not in use, or when
   * `userId` is given and is not its owner.
   */
  remove(deviceId: string, userId?: string): Promise<boolean>
  /** Ends all devices of a user. Gives how many there were. */
  removeAll(userId: string): Promise<number>
}

export const devicesService = defineService<Devices>('bulletproof.devices')

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
