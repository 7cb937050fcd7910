/**
 * The signed form of a request, profile v1. Nothing here is tied to a runtime: browsers, Node and workerd share it.
 */
export interface CanonicalParts {
  /** Any case; signed in upper case. */
  readonly method: string
  /** As the WHATWG URL parser gives it. */
  readonly pathname: string
  /** With its `?`, or empty. */
  readonly search: string
  /** The header's text: ms since 1970, 13 digits. */
  readonly timestamp: string
  readonly nonce: string
  /** SHA-256 of the body bytes, lower-case hex. */
  readonly bodySha256: string
}

/** Six lines joined by LF, without a last LF. No field can hold an LF, so the form is unambiguous. */
export function canonicalRequest(parts: CanonicalParts): string {
  return `${parts.method.toUpperCase()}\n${parts.pathname}\n${parts.search}\n${parts.timestamp}\n${parts.nonce}\n${parts.bodySha256}`
}

export const DEFAULT_HEADER_PREFIX = 'x-sig-'

/** What a nonce looks like. */
export const NONCE_PATTERN = /^[A-Za-z0-9_-]{16,128}$/
/** What a timestamp looks like: ms since 1970, good until the year 2286. */
export const TIMESTAMP_PATTERN = /^\d{13}$/
/** What a key id, and so a device id, looks like. */
export const KEY_ID_PATTERN = /^[A-Za-z0-9._:@-]{1,128}$/

/** Header names under one prefix, in lower case. */
export interface SignatureHeaderNames {
  readonly keyId: string
  readonly timestamp: string
  readonly nonce: string
  readonly bodySha256: string
  readonly signature: string
  readonly deviceId: string
  readonly timezone: string
}

/** Names under a prefix such as `x-sig-`. Throws a TypeError when the prefix cannot begin a header name. */
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
