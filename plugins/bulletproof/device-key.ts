import { isPublicKey, publicSigningKey, type SigningKey, signingKey } from 'zin/signing'
import { bulletproofErrors } from './errors.js'

/** Throws DEVICE_PUBLIC_KEY_INVALID (400) for a public key that a device may not enroll. */
export function checkPublicKey(publicKey: string): void {
  if (!isPublicKey(publicKey)) throw bulletproofErrors.DEVICE_PUBLIC_KEY_INVALID()
}

/** Marks a public key. Generated secrets contain no colon. */
const MARK = 'ed25519:'

/**
 * Returns the text that is sealed for a device with its own key. The key is public, but it is sealed like a secret: otherwise anyone with
 * write access to the table could replace it, or have it used as a secret.
 */
export function markPublicKey(publicKey: string): string {
  return MARK + publicKey
}

/** The public key in an opened envelope; `undefined` when it holds a secret. */
export function publicKeyIn(opened: string): string | undefined {
  return opened.startsWith(MARK) ? opened.slice(MARK.length) : undefined
}

/** Returns the key that verifies the signatures of a device, from its opened envelope. */
export function deviceKey(opened: string): SigningKey {
  const publicKey = publicKeyIn(opened)
  return publicKey === undefined ? signingKey(opened) : publicSigningKey(publicKey)
}
