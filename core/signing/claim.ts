import type { CoveredFields, SignatureAlgorithm } from './rfc9421/signature-base.js'

/** The two ways of signing a request. */
export type SignatureProfile = 'v1' | 'rfc9421'

/**
 * A failed check. `layer` is the number of the check in the specification; `reason` is for logs and hooks, never for the caller.
 */
export interface SignatureFault {
  readonly ok: false
  readonly layer: 3 | 4 | 5 | 6 | 7 | 8 | 9
  readonly reason: string
}

export function fault(layer: SignatureFault['layer'], reason: string): SignatureFault {
  return { ok: false, layer, reason }
}

/** What a request says about its signature; every field has its right form, and nothing is proven yet. */
export interface SignatureClaim {
  readonly ok: true
  readonly profile: SignatureProfile
  /** Of profile v1 always `hmac-sha256`. */
  readonly alg: SignatureAlgorithm
  readonly keyId: string
  /** ms since 1970, 13 digits. Profile rfc9421 counts in seconds: the beginning of the second. */
  readonly timestamp: string
  readonly nonce: string
  /** Lower-case hex. Without a `Content-Digest` the hash of no bytes. */
  readonly bodySha256: string
  /** Lower-case hex. */
  readonly signature: string
  readonly deviceId: string | undefined
  readonly timezone: string | undefined
  readonly userAgent: string | undefined
  /** What profile rfc9421 signs beside method and target. */
  readonly covered?: CoveredMessage
}

export interface CoveredMessage {
  /** The `Host` header, which is in lower case. */
  readonly authority: string
  readonly fields: CoveredFields
  /** Name of the header with the device id. */
  readonly deviceIdHeader: string
}
