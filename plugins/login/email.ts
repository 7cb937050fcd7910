/**
 * The canonical form of an email: NFC, in lower case, also before the `@`. Accents and widths are significant; tables compare it
 * byte by byte.
 */
export function canonicalEmail(email: string): string {
  return email.normalize('NFC').toLowerCase()
}
