import { parseBackups, type SigningKey, signingKey } from 'zin/signing'

/** The settings that may hold the shared secret, in order of precedence. */
export const sharedSecretSettings = ['BULLETPROOF_SIGNING_SECRET', 'AUTH_KEY', 'APP_KEY'] as const
export type SharedSecretSetting = (typeof sharedSecretSettings)[number]

/** The setting that holds the earlier secrets. */
export const backupsSetting = 'BULLETPROOF_SIGNING_SECRET_BK'

type Values = Readonly<Record<string, string | undefined>>

/** The secret of callers without a device, and the earlier ones. */
export interface SharedKeyring {
  /** The setting that holds the secret; `undefined` when none is set. */
  readonly source: SharedSecretSetting | undefined
  /** Length of the current secret in UTF-8 bytes; 0 when none is set. */
  readonly bytes: number
  /** Number of backups that are ignored because they are too short. */
  readonly shortBackups: number
  /** Upper limit of the number of keys, at least 1. */
  readonly slots: number
  /** The current key, then the backups that are still valid at `now`. */
  keys(now: number): readonly SigningKey[]
}

/** Returns the shared secret in force, from the first of its settings that is not empty. */
export function sharedSecret(settings: Values): { readonly source: SharedSecretSetting | undefined; readonly secret: string } {
  const source = sharedSecretSettings.find((name) => (settings[name] ?? '') !== '')
  return { source, secret: source === undefined ? '' : (settings[source] ?? '') }
}

/**
 * Reads the shared secret and its backups. Missing settings count as empty.
 * Throws SIGNING_SECRET_BACKUPS_INVALID, which never quotes the content, for a malformed backup list.
 *
 * @param minBackupBytes backups of fewer UTF-8 bytes are ignored: a weak secret must not stay valid after its replacement.
 */
export function createSharedKeyring(settings: Values, maxBackups = 50, minBackupBytes = 0): SharedKeyring {
  const { source, secret } = sharedSecret(settings)
  // Backups beyond the limit are kept if they have an expiry, which a rotation sets when it moves them past the limit.
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
