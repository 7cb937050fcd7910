/**
 * The one spelling of an email that stands for a user: NFC, in lower case, also before the `@`. Accents and widths count; tables
 * compare it byte by byte.
 */
export function canonicalEmail(email: string): string {
  return email.normalize('NFC').toLowerCase()
}
