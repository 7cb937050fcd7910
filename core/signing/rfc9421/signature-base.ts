import { toBase64 } from '../bytes.js'

/**
 * The signed form of a request in profile rfc9421: HTTP Message Signatures with a fixed set of covered components.
 * This file is independent of the runtime: it works in browsers, Node and workerd.
 */

/** Distinguishes Zin's signatures from others that a request may carry. */
export const SIGNATURE_TAG = 'zin-bulletproof'

export type SignatureAlgorithm = 'hmac-sha256' | 'ed25519'

/** Length of a signature in bytes. */
export const SIGNATURE_BYTES: Readonly<Record<SignatureAlgorithm, number>> = { 'hmac-sha256': 32, ed25519: 64 }

/** Form of `created`: whole seconds since 1970, valid until the year 2286. */
export const CREATED_PATTERN = /^\d{10}$/
/** Allowed values of a covered header, so that its bytes and lines are unambiguous. */
export const FIELD_PATTERN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** The parameters of a signature, except the tag. */
export interface SignatureParameters {
  /** Seconds since 1970. */
  readonly created: string
  readonly nonce: string
  readonly keyId: string
  readonly alg: SignatureAlgorithm
}

/** The covered headers: those that the request has; the device id is always present. */
export interface CoveredFields {
  readonly contentType: string | undefined
  readonly contentDigest: string | undefined
  readonly authorization: string | undefined
  readonly deviceId: string
}

export interface SignedMessage {
  /** Upper case. */
  readonly method: string
  /** Host in lower case, with the port unless it is the default of the scheme. */
  readonly authority: string
  /** As returned by the WHATWG URL parser. */
  readonly pathname: string
  /** With the `?`, or empty. */
  readonly search: string
  readonly fields: CoveredFields
}

type Component = readonly [name: string, value: string]

/** Returns the covered headers in the defined order. */
export function coveredFields(fields: CoveredFields, deviceIdHeader: string): readonly Component[] {
  const all: readonly (readonly [string, string | undefined])[] = [
    ['content-type', fields.contentType],
    ['content-digest', fields.contentDigest],
    ['authorization', fields.authorization],
    [deviceIdHeader, fields.deviceId],
  ]
  return all.filter((field): field is Component => field[1] !== undefined)
}

/** Returns the component names of a signature over these headers. */
export function componentNames(fields: CoveredFields, deviceIdHeader: string): readonly string[] {
  return ['@method', '@authority', '@path', '@query', ...coveredFields(fields, deviceIdHeader).map(([name]) => name)]
}

/** Returns the value of `@signature-params`, which is also that of the signature's member in `Signature-Input`. */
export function serializeParameters(names: readonly string[], { created, nonce, keyId, alg }: SignatureParameters): string {
  const list = names.map((name) => `"${name}"`).join(' ')
  return `(${list});created=${created};nonce="${nonce}";keyid="${keyId}";alg="${alg}";tag="${SIGNATURE_TAG}"`
}

/** Returns the text that is signed: one line per component, then the parameters. */
export function signatureBase(message: SignedMessage, deviceIdHeader: string, parameters: SignatureParameters): string {
  const { method, authority, pathname, search, fields } = message
  const components: readonly Component[] = [
    ['@method', method],
    ['@authority', authority],
    ['@path', pathname],
    ['@query', search === '' ? '?' : search],
    ...coveredFields(fields, deviceIdHeader),
  ]
  const names = components.map(([name]) => name)
  return formatBase(components, serializeParameters(names, parameters))
}

/** Formats a signature base (RFC 9421, section 2.5). Values contain no LF. */
export function formatBase(components: readonly Component[], parameters: string): string {
  return [...components, ['@signature-params', parameters] as const].map(([name, value]) => `"${name}": ${value}`).join('\n')
}

/** Returns the `Content-Digest` (RFC 9530) for a SHA-256. */
export function contentDigest(sha256: Uint8Array): string {
  return `sha-256=:${toBase64(sha256)}:`
}
