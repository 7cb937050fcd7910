import { parseBackups, type SigningKey, signingKey } from 'zin/signing'

/** Where the shared secret comes from, in this order. */
export const sharedSecretSettings = ['BULLETPROOF_SIGNING_SECRET', 'AUTH_KEY', 'APP_KEY'] as const
export type SharedSecretSetting = (typeof sharedSecretSettings)[number]

/** Where the secrets before it come from. */
export const backupsSetting = 'BULLETPROOF_SIGNING_SECRET_BK'

type Values = Readonly<Record<string, string | undefined>>

/** The secret that callers without a device sign with, and the ones before it. */
export interface SharedKeyring {
  /** The setting that gave the secret; `undefined` when none is set. */
  readonly source: SharedSecretSetting | undefined
  /** Length of the present secret in UTF-8 bytes; 0 when none is set. */
  readonly bytes: number
  /** How many backups are shorter than what is wanted; they are left out. */
  readonly shortBackups: number
  /** How many keys there are at most, at least 1. */
  readonly slots: number
  /** Present key first, then backups that are still good at `now`. */
  keys(now: number): readonly SigningKey[]
}

/** The shared secret in force: that of the first of its settings that is not empty. */
export function sharedSecret(settings: Values): { readonly source: SharedSecretSetting | undefined; readonly secret: string } {
  const source = sharedSecretSettings.find((name) => (settings[name] ?? '') !== '')
  return { source, secret: source === undefined ? '' : (settings[source] ?? '') }
}

/**
 * Reads the shared secret and its backups. Settings that are missing count as empty.
 * Throws SIGNING_SECRET_BACKUPS_INVALID, which never quotes the content, for a malformed backup list.
 *
 * @param minBackupBytes backups of fewer UTF-8 bytes are left out: a weak secret must not stay good after it was replaced.
 */
export function createSharedKeyring(settings: Values, maxBackups = 5, minBackupBytes = 0): SharedKeyring {
  const { source, secret } = sharedSecret(settings)
  // One beyond the number is kept while it has an end: a rotation gives it one when it pushes it out of the list.
  const listed = parseBackups(settings[backupsSetting] ?? '', backupsSetting).filter(
    ({ notAfter }, index) => index < maxBackups || notAfter !== undefined,
  )
  const backups = listed.filter((backup) => Buffer.byteLength(backup.secret) >= minBackupBytes)
  const present = secret === '' ? [] : [{ ...signingKey(secret), notAfter: Number.POSITIVE_INFINITY }]
  const entries = [
    ...present,
    ...backups.map((backup) => ({ ...signingKey(backup.secret), notAfter: backup.notAfter ?? Number.POSITIVE_INFINITY })),
  ]
  return {
    source,
    bytes: Buffer.byteLength(secret),
    shortBackups: listed.length - backups.length,
    slots: Math.max(1, entries.length),
    keys: (now) => entries.filter((entry) => now <= entry.notAfter),
  }
}
