import { isPublicKey, publicSigningKey, type SigningKey, signingKey } from 'zin/signing'
import { bulletproofErrors } from './errors.js'

/** Throws DEVICE_PUBLIC_KEY_INVALID (400) for what no device may enrol. */
export function checkPublicKey(publicKey: string): void {
  if (!isPublicKey(publicKey)) throw bulletproofErrors.DEVICE_PUBLIC_KEY_INVALID()
}

/** No secret that an enrolment makes holds a colon. */
const MARK = 'ed25519:'

/**
 * What is sealed for a device with a key of its own. Public as it is, it is sealed like a secret, so that nobody who can write
 * to the table can put another key there, or have this one taken for a secret.
 */
export function markPublicKey(publicKey: string): string {
  return MARK + publicKey
}

/** The public key in an opened envelope; `undefined` when it holds a secret. */
export function publicKeyIn(opened: string): string | undefined {
  return opened.startsWith(MARK) ? opened.slice(MARK.length) : undefined
}

/** What checks the signatures of a device, from its opened envelope. */
export function deviceKey(opened: string): SigningKey {
  const publicKey = publicKeyIn(opened)
  return publicKey === undefined ? signingKey(opened) : publicSigningKey(publicKey)
}
