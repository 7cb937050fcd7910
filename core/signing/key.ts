import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

/** A secret made ready to check signatures. */
export interface SigningKey {
  readonly key: KeyObject
  /** Names the secret without telling it: 32 hex digits. Equal secrets have equal ids. */
  readonly id: string
}

/** The HMAC key is the secret's UTF-8 bytes as they are. */
export function signingKey(secret: string): SigningKey {
  const bytes = Buffer.from(secret, 'utf8')
  return { key: createSecretKey(bytes), id: createHash('sha256').update('zin/signing-key/v1\n').update(bytes).digest('hex').slice(0, 32) }
}

/** A key that no request can be signed with; checking against it costs what checking against a real one costs. */
export function decoyKey(): SigningKey {
  return { key: createSecretKey(randomBytes(32)), id: 'decoy' }
}

export function hmacSha256(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
