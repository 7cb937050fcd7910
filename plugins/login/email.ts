import { sha256Hex } from 'zin/signing'

/**
 * The canonical form of an email: NFC, in lower case, also before the `@`. Accents and widths are significant; tables compare it
 * byte by byte.
 */
export function canonicalEmail(email: string): string {
  return email.normalize('NFC').toLowerCase()
}

/** Names an account in the audit log without its email. */
export function accountTarget(email: string): string {
  return `account:${sha256Hex(canonicalEmail(email)).slice(0, 16)}`
}
