import { type Cipher, isEncrypted, type Place } from './cipher.js'

/** An encrypted value as it is stored: its clear fields are copies for search, and are ignored when it is opened. */
interface Envelope {
  readonly encrypted: string
  readonly clear?: Readonly<Record<string, unknown>>
}

/** @param clear paths of fields that stay readable, `user.id`. */
export function seal(cipher: Cipher, value: unknown, place: Place, clear: readonly string[] = []): unknown {
  const json = JSON.stringify(value) as string | undefined
  // There is nothing to hide, and no JSON of it.
  if (json === undefined) return undefined
  const fields = clear.flatMap((path) => {
    const found = valueAt(value, path)
    return found === undefined ? [] : [[path, found] as const]
  })
  return { encrypted: cipher.encrypt(json, place), ...(fields.length > 0 && { clear: Object.fromEntries(fields) }) } satisfies Envelope
}

/** The original of a stored value; undefined when it was stored plain. */
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

/** Whether what is stored, a value or a text, would be stored differently now. */
export function isStale(cipher: Cipher, stored: unknown): boolean {
  if (typeof stored === 'string') return cipher.isStale(stored)
  if (isEnvelope(stored)) return cipher.isStale(stored.encrypted)
  // Progress in numbers is stored plain, and so is a payload that a producer left out.
  return typeof stored === 'object' && stored !== null && Object.keys(stored).length > 0
}

/** The value at a path of property names: `user.address.city`. */
export function valueAt(value: unknown, path: string): unknown {
  let at = value
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Readonly<Record<string, unknown>>)[name]
  }
  return at
}
