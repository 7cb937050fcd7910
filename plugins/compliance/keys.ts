import { createHash, hkdfSync } from 'node:crypto'
import { parseSecrets } from 'zin/signing'

/** A key derived for one purpose. */
export interface DerivedKey {
  /** Identifies the key in sealed data without revealing it: 16 hex digits. */
  readonly id: string
  /** 32 bytes. */
  readonly key: Buffer
}

/** The keys for one purpose: the current one, and earlier ones that are only used for reading. */
export interface KeyRing {
  readonly current: DerivedKey
  /** The current one first. */
  readonly all: readonly DerivedKey[]
  /** Returns the key with an id, or undefined if it is not configured. */
  find(id: string): DerivedKey | undefined
  /** Returns the position of the key with an id: 0 for the current one, 1 for the one before; undefined if it is not configured. */
  ageOf(id: string): number | undefined
}

export interface KeySettings {
  readonly APP_KEY: string
  readonly APP_KEY_BK: string
}

/**
 * Derives the keys for one purpose, such as `audit`, from the master key and earlier ones (HKDF-SHA256, no salt, label
 * `zin/compliance/<purpose>/v1`, 32 bytes). Throws SIGNING_SECRET_BACKUPS_INVALID for a malformed APP_KEY_BK.
 */
export function keysFor(purpose: string, { APP_KEY, APP_KEY_BK }: KeySettings): KeyRing {
  const label = `zin/compliance/${purpose}/v1`
  const all = [APP_KEY, ...parseSecrets(APP_KEY_BK, 'APP_KEY_BK')].map((secret) => derive(secret, label))
  const ages = new Map(all.map(({ id }, age) => [id, age] as const).reverse())
  const ageOf = (id: string): number | undefined => ages.get(id)
  return { current: all[0] as DerivedKey, all, find: (id) => all[ageOf(id) ?? -1], ageOf }
}

function derive(secret: string, label: string): DerivedKey {
  const key = Buffer.from(hkdfSync('sha256', Buffer.from(secret, 'utf8'), '', label, 32))
  return { key, id: createHash('sha256').update(`${label}/kid`).update(key).digest('hex').slice(0, 16) }
}
