import { createPublicKey, type JsonWebKey } from 'node:crypto'
import type { JSONWebKeySet, JWK } from 'jose'
import { type EgressParts, egressFetch, messageOf } from 'zin'

export interface KeyAddress {
  readonly issuer: string
  readonly jwksUrl?: string | undefined
  readonly allowPrivate: boolean
  readonly timeoutMs: number
  readonly maxBytes: number
}

const maxKeys = 100

/** Fetches the public keys of an issuer. Rejects with what is wrong and where. */
export async function fetchKeys(address: KeyAddress, signal: AbortSignal, parts: EgressParts = {}): Promise<JSONWebKeySet> {
  const { issuer, jwksUrl, timeoutMs } = address
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  const url = jwksUrl ?? (await discovered(address, deadline, parts))
  const { keys } = (await fetchJson(url, address, deadline, parts)) as { readonly keys?: unknown }
  if (!Array.isArray(keys)) throw new Error(`the response of ${originOf(url)} for ${issuer} has no list "keys"`)
  if (keys.length > maxKeys)
    throw new Error(`the response of ${originOf(url)} for ${issuer} has ${keys.length} keys; at most ${maxKeys} are read`)
  const usable = keys.filter(isPublicSigningKey).filter(isReadable)
  if (usable.length === 0) throw new Error(`the response of ${originOf(url)} for ${issuer} has no public key for signatures`)
  return { keys: usable }
}

/** @returns the URL of the keys, from the discovery document. */
async function discovered(address: KeyAddress, signal: AbortSignal, parts: EgressParts): Promise<string> {
  const { issuer } = address
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = (await fetchJson(url, address, signal, parts)) as { readonly issuer?: unknown; readonly jwks_uri?: unknown }
  // Otherwise another issuer on the same host could speak for this one.
  if (document.issuer !== issuer) throw new Error(`the discovery document of ${issuer} names another issuer`)
  if (typeof document.jwks_uri !== 'string') throw new Error(`the discovery document of ${issuer} has no "jwks_uri"`)
  return document.jwks_uri
}

async function fetchJson(
  url: string,
  { allowPrivate, maxBytes, timeoutMs }: KeyAddress,
  signal: AbortSignal,
  parts: EgressParts,
): Promise<Readonly<Record<string, unknown>>> {
  const { status, body } = await egressFetch(
    url,
    {
      allowPrivate,
      schemes: allowPrivate ? ['https:', 'http:'] : ['https:'],
      headers: { accept: 'application/json' },
      maxBytes,
      timeoutMs,
      signal,
    },
    parts,
  )
  if (status !== 200) throw new Error(`${placeOf(url)} responded with status ${status}`)
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw new Error(`the response of ${placeOf(url)} is not JSON: ${messageOf(error)}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`the response of ${placeOf(url)} is not an object`)
  return value as Readonly<Record<string, unknown>>
}

const publicKinds: readonly unknown[] = ['RSA', 'EC', 'OKP']

/** Leaves out secrets (`oct`), private keys, and keys for encryption: some issuers publish several kinds. */
function isPublicSigningKey(key: unknown): key is JWK {
  if (typeof key !== 'object' || key === null) return false
  const { kty, use, key_ops: operations, d, k } = key as JWK & { readonly k?: unknown; readonly d?: unknown }
  if (!publicKinds.includes(kty) || d !== undefined || k !== undefined) return false
  return (use === undefined || use === 'sig') && (!Array.isArray(operations) || operations.includes('verify'))
}

/** Whether it can verify anything: jose fails unexpectedly with a malformed key, and with an RSA key below 2048 bits, whose tokens it refuses. */
function isReadable(key: JWK): boolean {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
    return (asymmetricKeyDetails?.modulusLength ?? 2048) >= 2048
  } catch {
    return false
  }
}

function originOf(url: string): string {
  return new URL(url).origin
}

/** Without a query, which may contain a secret. */
function placeOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
