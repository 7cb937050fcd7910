import { toBase64 } from '../bytes.js'

/**
 * The signed form of a request, profile rfc9421: HTTP Message Signatures with one fixed choice of what is covered.
 * Nothing here is tied to a runtime: browsers, Node and workerd share it.
 */

/** Marks our signatures among others that a request may carry. */
export const SIGNATURE_TAG = 'zin-bulletproof'

export type SignatureAlgorithm = 'hmac-sha256' | 'ed25519'

/** Length of a signature in bytes. */
export const SIGNATURE_BYTES: Readonly<Record<SignatureAlgorithm, number>> = { 'hmac-sha256': 32, ed25519: 64 }

/** What `created` looks like: whole seconds since 1970, good until the year 2286. */
export const CREATED_PATTERN = /^\d{10}$/
/** What a covered header may hold, so that it has one reading in bytes and in lines. */
export const FIELD_PATTERN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** The parameters of a signature, beside the tag. */
export interface SignatureParameters {
  /** Seconds since 1970. */
  readonly created: string
  readonly nonce: string
  readonly keyId: string
  readonly alg: SignatureAlgorithm
}

/** The covered headers: each one that the request has, and the device id always. */
export interface CoveredFields {
  readonly contentType: string | undefined
  readonly contentDigest: string | undefined
  readonly authorization: string | undefined
  readonly deviceId: string
}

export interface SignedMessage {
  /** Upper case. */
  readonly method: string
  /** Host in lower case, with the port unless it is the scheme's own. */
  readonly authority: string
  /** As the WHATWG URL parser gives it. */
  readonly pathname: string
  /** With its `?`, or empty. */
  readonly search: string
  readonly fields: CoveredFields
}

type Component = readonly [name: string, value: string]

/** Covered headers in their one order. */
export function coveredFields(fields: CoveredFields, deviceIdHeader: string): readonly Component[] {
  const all: readonly (readonly [string, string | undefined])[] = [
    ['content-type', fields.contentType],
    ['content-digest', fields.contentDigest],
    ['authorization', fields.authorization],
    [deviceIdHeader, fields.deviceId],
  ]
  return all.filter((field): field is Component => field[1] !== undefined)
}

/** The names that a signature over these headers lists. */
export function componentNames(fields: CoveredFields, deviceIdHeader: string): readonly string[] {
  return ['@method', '@authority', '@path', '@query', ...coveredFields(fields, deviceIdHeader).map(([name]) => name)]
}

/** The value of `@signature-params`, and of the signature's member in `Signature-Input`. */
export function serializeParameters(names: readonly string[], { created, nonce, keyId, alg }: SignatureParameters): string {
  const list = names.map((name) => `"${name}"`).join(' ')
  return `(${list});created=${created};nonce="${nonce}";keyid="${keyId}";alg="${alg}";tag="${SIGNATURE_TAG}"`
}

/** The text that is signed: one line per component, and the parameters. */
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

/** A signature base by RFC 9421 section 2.5; values hold no LF. */
export function formatBase(components: readonly Component[], parameters: string): string {
  return [...components, ['@signature-params', parameters] as const].map(([name, value]) => `"${name}": ${value}`).join('\n')
}

/** The `Content-Digest` of RFC 9530 for a SHA-256. */
export function contentDigest(sha256: Uint8Array): string {
  return `sha-256=:${toBase64(sha256)}:`
}
