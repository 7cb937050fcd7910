import type { CoveredFields, SignatureAlgorithm } from './rfc9421/signature-base.js'

/** The two profiles for signing a request. */
export type SignatureProfile = 'v1' | 'rfc9421'

/**
 * A failed check. `layer` is the number of the check in the specification. `reason` is for logs and hooks, never for the caller.
 */
export interface SignatureFault {
  readonly ok: false
  readonly layer: 3 | 4 | 5 | 6 | 7 | 8 | 9
  readonly reason: string
}

export function fault(layer: SignatureFault['layer'], reason: string): SignatureFault {
  return { ok: false, layer, reason }
}

/** The signature data that a request claims: every field is well formed, but nothing is verified yet. */
export interface SignatureClaim {
  readonly ok: true
  readonly profile: SignatureProfile
  /** Always `hmac-sha256` in profile v1. */
  readonly alg: SignatureAlgorithm
  readonly keyId: string
  /** ms since 1970, 13 digits. Profile rfc9421 has a resolution of seconds: the start of the second. */
  readonly timestamp: string
  readonly nonce: string
  /** Lower-case hex. Without a `Content-Digest`, the hash of the empty body. */
  readonly bodySha256: string
  /** Lower-case hex. */
  readonly signature: string
  readonly deviceId: string | undefined
  readonly timezone: string | undefined
  readonly userAgent: string | undefined
  /** What profile rfc9421 signs in addition to method and target. */
  readonly covered?: CoveredMessage
}

export interface CoveredMessage {
  /** The `Host` header, in lower case. */
  readonly authority: string
  readonly fields: CoveredFields
  /** Name of the header with the device id. */
  readonly deviceIdHeader: string
}
