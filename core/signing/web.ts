/** Verification of signed requests without Node, at the edge. `zin/signing` is the equivalent for Node, with devices and rotation. */

import { toHex } from './bytes.js'
import { signedText } from './checks.js'
import { fault, type SignatureClaim, type SignatureFault } from './claim.js'
import { bytesOf, sha256, subtle } from './web-crypto.js'

export type { SignatureHeaderNames } from './canonical.js'
export { DEFAULT_HEADER_PREFIX, KEY_ID_PATTERN, signatureHeaderNames } from './canonical.js'
export type { SignedTarget } from './checks.js'
export { checkFreshness, signedTarget } from './checks.js'
export type { SignatureClaim, SignatureFault } from './claim.js'
export type { SignatureReader } from './signature-reader.js'
export { signatureReader } from './signature-reader.js'

/** A shared secret, prepared for checking signatures. */
export interface WebSigningKey {
  readonly key: CryptoKey
  /** Identifies the secret without revealing it: 32 hex digits. */
  readonly id: string
}

/** Prepares a secret. The HMAC key is its UTF-8 bytes, unchanged. */
export async function webSigningKey(secret: string): Promise<WebSigningKey> {
  const bytes = new TextEncoder().encode(secret)
  const key = await subtle().importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const named = new Uint8Array([...new TextEncoder().encode('zin/signing-key/v1\n'), ...bytes])
  return { key, id: toHex(await sha256(named)).slice(0, 32) }
}

/** Layer 6, first half: checks the signature, which covers the body hash that the request claims; the body itself is not needed. */
export async function checkWebMac(
  method: string,
  target: { readonly pathname: string; readonly search: string },
  claim: SignatureClaim,
  { key }: WebSigningKey,
): Promise<SignatureFault | undefined> {
  // A shared secret only creates HMACs; an Ed25519 signature is longer and never matches.
  const matches = await subtle().verify('HMAC', key, fromHex(claim.signature), bytesOf(signedText(method, target, claim)))
  return matches && claim.alg === 'hmac-sha256' ? undefined : fault(6, 'the signature does not match')
}

/** Layer 6, second half: the received bytes are the signed bytes. */
export async function checkWebBody(claim: SignatureClaim, body: Uint8Array): Promise<SignatureFault | undefined> {
  return toHex(await sha256(body)) === claim.bodySha256 ? undefined : fault(6, 'the body is not the one that was signed')
}

/** Returns the SHA-256 as lower-case hex. */
export async function webSha256Hex(data: string | Uint8Array): Promise<string> {
  return toHex(await sha256(data))
}

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}
