import {
  createHash,
  createHmac,
  createSecretKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** A secret or a device's public key, prepared for checking signatures; `key.type` distinguishes them. */
export interface SigningKey {
  readonly key: KeyObject
  /** Identifies the secret without revealing it: 32 hex digits. Equal secrets have equal ids. */
  readonly id: string
}

/** Prepares a secret. The HMAC key is its UTF-8 bytes, unchanged. */
export function signingKey(secret: string): SigningKey {
  const bytes = Buffer.from(secret, 'utf8')
  return { key: createSecretKey(bytes), id: createHash('sha256').update('zin/signing-key/v1\n').update(bytes).digest('hex').slice(0, 32) }
}

/** Keys that no request can be signed with. Checking against them takes as long as checking against real keys. */
export interface DecoyKey extends SigningKey {
  /** Ed25519. */
  readonly publicKey: KeyObject
}

export function decoyKey(): DecoyKey {
  return { key: createSecretKey(randomBytes(32)), id: 'decoy', publicKey: generateKeyPairSync('ed25519').publicKey }
}

export function hmacSha256(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex')
}

/** Whether two secrets, such as API keys, are the same text. The time that it takes reveals neither of them, except their lengths. */
export function isSameSecret(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((secret) => createHash('sha256').update(secret).digest()) as [Buffer, Buffer]
  return timingSafeEqual(one, other)
}
