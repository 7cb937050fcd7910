import { createHash, createPublicKey } from 'node:crypto'
import type { SigningKey } from './key.js'

/** Canonical base64url of 32 bytes. */
const keyPattern = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

/** The prime of the field of edwards25519 (RFC 8032, section 5.1). */
const prime = 2n ** 255n - 19n

const orderEight = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n

/**
 * The y coordinates of the eight points of small order (Chalkias, Garillot and Nikolaenko, "Taming the many EdDSAs", table 6):
 * the neutral element, the points of order 2 and 4, and two of order 8. A point and its negative have the same y. For such a key,
 * one signature, with R the neutral element and S zero, is valid for any message, or for every eighth one.
 */
const smallOrder: ReadonlySet<bigint> = new Set([1n, prime - 1n, 0n, orderEight, prime - orderEight])

/** Whether the text is the base64url of an Ed25519 public key in canonical encoding that is not of small order. */
export function isPublicKey(text: string): boolean {
  if (!keyPattern.test(text)) return false
  const bytes = Buffer.from(text, 'base64url').reverse()
  // The highest bit is the sign of x.
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f, 0)
  const y = BigInt(`0x${bytes.toString('hex')}`)
  return y < prime && !smallOrder.has(y)
}

/** Prepares the public key of a device that signs with Ed25519. Throws for text that {@link isPublicKey} rejects because of its form. */
export function publicSigningKey(publicKey: string): SigningKey {
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
  return { key, id: createHash('sha256').update('zin/signing-key/ed25519\n').update(publicKey).digest('hex').slice(0, 32) }
}
