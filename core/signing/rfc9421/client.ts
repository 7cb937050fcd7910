import { toBase64 } from '../bytes.js'
import { KEY_ID_PATTERN, NONCE_PATTERN, signatureHeaderNames } from '../canonical.js'
import { baseUrl, bytesOf, hmacSha256, newNonce, type SignedBody, sha256, subtle } from '../web-crypto.js'
import { type DevicePrivateKey, importPrivateKey } from './device-key.js'
import {
  type CoveredFields,
  CREATED_PATTERN,
  componentNames,
  contentDigest,
  FIELD_PATTERN,
  type SignatureAlgorithm,
  serializeParameters,
  signatureBase,
} from './signature-base.js'

/** The credential that signs a request: the device's secret (HMAC-SHA256) or its private key (Ed25519). */
export type Rfc9421Credential =
  | { readonly secret: string; readonly privateKey?: undefined }
  | { readonly privateKey: DevicePrivateKey; readonly secret?: undefined }

/** Options for signing one request by RFC 9421. */
export type Rfc9421SignOptions = Rfc9421Credential & {
  readonly profile: 'rfc9421'
  /** In any case. */
  readonly method: string
  /** Absolute, because the host is signed too; in a browser, it may be relative to the page. */
  readonly url: string | URL
  /** The exact bytes that will be sent; text is signed as UTF-8. */
  readonly body?: SignedBody
  /** The request's `Content-Type`, if it has one. */
  readonly contentType?: string | undefined
  /** The request's `Authorization`, if it has one: `Bearer <jwt>`. */
  readonly authorization?: string | undefined
  readonly keyId: string
  /** ms since 1970; signed in whole seconds. Default: now. */
  readonly timestamp?: number
  /** 16 to 128 of `A-Z a-z 0-9 _ -`. Default: a random UUID. */
  readonly nonce?: string
  /** Default `x-sig-`. */
  readonly headerPrefix?: string
}

/**
 * Creates the headers of one request signed by RFC 9421, including the covered ones. Throws a TypeError for values that no server would
 * accept.
 */
export async function signMessage(options: Rfc9421SignOptions): Promise<Readonly<Record<string, string>>> {
  const { body, keyId, contentType, authorization } = options
  const nonce = options.nonce ?? newNonce()
  const created = String(Math.floor((options.timestamp ?? Date.now()) / 1000))
  if (!KEY_ID_PATTERN.test(keyId)) throw new TypeError('keyId must be 1 to 128 letters, digits or . _ : @ -')
  if (!NONCE_PATTERN.test(nonce)) throw new TypeError('nonce must be 16 to 128 letters, digits, _ or -')
  if (!CREATED_PATTERN.test(created)) throw new TypeError('timestamp must be milliseconds since 1970')
  for (const [name, value] of Object.entries({ contentType, authorization }))
    if (value !== undefined && !FIELD_PATTERN.test(value))
      throw new TypeError(`${name} must be printable ASCII without leading or trailing spaces`)

  const deviceIdHeader = signatureHeaderNames(options.headerPrefix).deviceId
  const hasBody = bytesOf(body).byteLength > 0
  const fields: CoveredFields = {
    contentType,
    contentDigest: hasBody ? contentDigest(await sha256(body)) : undefined,
    authorization,
    deviceId: keyId,
  }
  const signer = signerOf(options)
  const parameters = { created, nonce, keyId, alg: signer.alg }
  const { host, pathname, search } = new URL(options.url, baseUrl())
  const message = { method: options.method.toUpperCase(), authority: host, pathname, search, fields }
  const signature = await signer.sign(signatureBase(message, deviceIdHeader, parameters))
  return {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(fields.contentDigest === undefined ? {} : { 'content-digest': fields.contentDigest }),
    ...(authorization === undefined ? {} : { authorization }),
    [deviceIdHeader]: keyId,
    'signature-input': `zin=${serializeParameters(componentNames(fields, deviceIdHeader), parameters)}`,
    signature: `zin=:${toBase64(signature)}:`,
  }
}

function signerOf({ secret, privateKey }: Rfc9421Credential): {
  readonly alg: SignatureAlgorithm
  sign(text: string): Promise<Uint8Array>
} {
  if ((secret === undefined) === (privateKey === undefined)) throw new TypeError('pass either secret or privateKey')
  if (secret === '') throw new TypeError('secret is empty')
  if (secret !== undefined) return { alg: 'hmac-sha256', sign: (text) => hmacSha256(secret, text) }
  return {
    alg: 'ed25519',
    sign: async (text) =>
      new Uint8Array(await subtle().sign('Ed25519', await importPrivateKey(privateKey), new TextEncoder().encode(text))),
  }
}
