import { type Cipher, isEncrypted, type Place } from './cipher.js'

/** An encrypted value as stored. Its clear fields are copies for searching, and are ignored on decryption. */
interface Envelope {
  readonly encrypted: string
  readonly clear?: Readonly<Record<string, unknown>>
}

/** Encrypts a value. @param clear Paths of fields to store as readable copies, such as `user.id`. */
export function seal(cipher: Cipher, value: unknown, place: Place, clear: readonly string[] = []): unknown {
  const json = JSON.stringify(value) as string | undefined
  // `undefined` has no JSON representation.
  if (json === undefined) return undefined
  const fields = clear.flatMap((path) => {
    const found = valueAt(value, path)
    return found === undefined ? [] : [[path, found] as const]
  })
  return { encrypted: cipher.encrypt(json, place), ...(fields.length > 0 && { clear: Object.fromEntries(fields) }) } satisfies Envelope
}

/** Returns the original of a stored value; undefined if it was stored as plaintext. */
export function open(cipher: Cipher, stored: unknown, place: Place): unknown {
  return isEnvelope(stored) ? JSON.parse(cipher.decrypt(stored.encrypted, place)) : undefined
}

export function isEnvelope(stored: unknown): stored is Envelope {
  if (typeof stored !== 'object' || stored === null || !('encrypted' in stored)) return false
  const { encrypted } = stored
  return (
    typeof encrypted === 'string' && isEncrypted(encrypted) && Object.keys(stored).every((key) => key === 'encrypted' || key === 'clear')
  )
}

/** Whether a stored value or text should be re-encrypted. */
export function isStale(cipher: Cipher, stored: unknown): boolean {
  if (typeof stored === 'string') return cipher.isStale(stored)
  if (isEnvelope(stored)) return cipher.isStale(stored.encrypted)
  // Numeric progress and omitted payloads are stored as plaintext.
  return typeof stored === 'object' && stored !== null && Object.keys(stored).length > 0
}

/** Returns the value at a path of property names, such as `user.address.city`. */
export function valueAt(value: unknown, path: string): unknown {
  let at = value
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Readonly<Record<string, unknown>>)[name]
  }
  return at
}
