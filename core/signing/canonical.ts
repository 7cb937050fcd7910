/**
 * The parts of a request that profile v1 signs. This file is independent of the runtime: it works in browsers, Node and workerd.
 */
export interface CanonicalParts {
  /** In any case; signed in upper case. */
  readonly method: string
  /** As returned by the WHATWG URL parser. */
  readonly pathname: string
  /** With the `?`, or empty. */
  readonly search: string
  /** The text of the header: ms since 1970, 13 digits. */
  readonly timestamp: string
  readonly nonce: string
  /** SHA-256 of the body bytes, lower-case hex. */
  readonly bodySha256: string
}

/** Returns the text that profile v1 signs: six lines joined by LF, without a final LF. No field can contain an LF, so it is unambiguous. */
export function canonicalRequest(parts: CanonicalParts): string {
  return `${parts.method.toUpperCase()}\n${parts.pathname}\n${parts.search}\n${parts.timestamp}\n${parts.nonce}\n${parts.bodySha256}`
}

export const DEFAULT_HEADER_PREFIX = 'x-sig-'

/** Form of a nonce. */
export const NONCE_PATTERN = /^[A-Za-z0-9_-]{16,128}$/
/** Form of a timestamp: ms since 1970, valid until the year 2286. */
export const TIMESTAMP_PATTERN = /^\d{13}$/
/** Form of a key id, and thus of a device id. */
export const KEY_ID_PATTERN = /^[A-Za-z0-9._:@-]{1,128}$/

/** Header names with a common prefix, in lower case. */
export interface SignatureHeaderNames {
  readonly keyId: string
  readonly timestamp: string
  readonly nonce: string
  readonly bodySha256: string
  readonly signature: string
  readonly deviceId: string
  readonly timezone: string
}

/** Returns the header names for a prefix such as `x-sig-`. Throws a TypeError if the prefix is invalid. */
export function signatureHeaderNames(prefix: string = DEFAULT_HEADER_PREFIX): SignatureHeaderNames {
  if (!/^[a-z][a-z0-9-]*-$/.test(prefix)) throw new TypeError('headerPrefix must be lower case and end with "-", such as "x-sig-"')
  return {
    keyId: `${prefix}key-id`,
    timestamp: `${prefix}timestamp`,
    nonce: `${prefix}nonce`,
    bodySha256: `${prefix}body-sha256`,
    signature: `${prefix}signature`,
    deviceId: `${prefix}device-id`,
    timezone: `${prefix}timezone`,
  }
}
