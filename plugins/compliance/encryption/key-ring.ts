import { createSecretKey, type KeyObject } from 'node:crypto'
import { type KeySettings, keysFor } from '../keys.js'
import { encryptionErrors } from './errors.js'

export interface EncryptionKey {
  readonly id: string
  readonly key: KeyObject
}

/** The keys of stored jobs. */
export interface EncryptionKeys {
  /** The key that encrypts new values. */
  readonly current: EncryptionKey
  /** Ids of all keys, the current one first. */
  readonly ids: readonly string[]
  find(id: string): EncryptionKey | undefined
}

/** The settings that define the keys. */
export interface EncryptionKeySettings extends KeySettings {
  /** `<id>:<32 bytes as base64>`, the newest first, separated by commas; empty: derived from the master key. */
  readonly WORKER_ENCRYPTION_KEYS: string
}

const keyBytes = 32

/**
 * Returns the keys from the settings: those of `WORKER_ENCRYPTION_KEYS`, then those derived from `APP_KEY` and earlier master keys, so that
 * jobs stay readable when `WORKER_ENCRYPTION_KEYS` is introduced. The first key encrypts. Undefined if no keys are set. Throws
 * COMPLIANCE_KEY_INVALID, which never contains a key.
 */
export function encryptionKeys(settings: EncryptionKeySettings): EncryptionKeys | undefined {
  const keys = [...givenKeys(settings.WORKER_ENCRYPTION_KEYS), ...derivedKeys(settings)]
  const [current] = keys
  if (current === undefined) return undefined
  const byId = new Map(keys.map((one) => [one.id, one]))
  return { current, ids: [...byId.keys()], find: (id) => byId.get(id) }
}

function givenKeys(list: string): readonly EncryptionKey[] {
  const entries = list.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]))
  const seen = new Set<string>()
  return entries.map((entry, i) => {
    const colon = entry.indexOf(':')
    const id = entry.slice(0, colon)
    const invalid = (what: string) => encryptionErrors.COMPLIANCE_KEY_INVALID(i + 1, what)
    if (colon < 1 || !/^[A-Za-z0-9_-]{1,32}$/.test(id)) throw invalid('has no id: 1 to 32 letters, digits, "_" or "-", then a colon')
    if (seen.has(id)) throw invalid(`repeats the id "${id}"`)
    seen.add(id)
    const text = entry.slice(colon + 1)
    if (!/^[A-Za-z0-9+/_-]+=*$/.test(text)) throw invalid(`with the id "${id}" is not base64`)
    const bytes = Buffer.from(text, 'base64')
    if (bytes.length !== keyBytes) throw invalid(`with the id "${id}" has ${bytes.length} bytes instead of ${keyBytes}`)
    return { id, key: createSecretKey(bytes) }
  })
}

function derivedKeys(settings: KeySettings): readonly EncryptionKey[] {
  if (settings.APP_KEY === '') return []
  return keysFor('encryption', settings).all.map(({ id, key }) => ({ id, key: createSecretKey(key) }))
}
