import { signingErrors } from './errors.js'
import { type SigningKey, signingKey } from './key.js'

/** Where the shared secret comes from, in this order. */
export const SHARED_SECRET_SETTINGS = ['BULLETPROOF_SIGNING_SECRET', 'AUTH_KEY', 'APP_KEY'] as const
export type SharedSecretSetting = (typeof SHARED_SECRET_SETTINGS)[number]

/** A secret that was replaced and is still good for a while. */
export interface BackupSecret {
  readonly secret: string
  /** ms since 1970; without it the secret is good until it leaves the list. */
  readonly notAfter?: number
}

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

/**
 * Reads the shared secret and its backups. Settings that are missing count as empty.
 * Throws SIGNING_SECRET_BACKUPS_INVALID, which never quotes the content, for a malformed backup list.
 *
 * @param minBackupBytes backups of fewer UTF-8 bytes are left out: a weak secret must not stay good after it was replaced.
 */
export function createSharedKeyring(
  settings: Readonly<Record<string, string | undefined>>,
  maxBackups = 5,
  minBackupBytes = 0,
): SharedKeyring {
  const source = SHARED_SECRET_SETTINGS.find((name) => (settings[name] ?? '') !== '')
  const secret = source === undefined ? '' : (settings[source] ?? '')
  // One beyond the number is kept while it has an end: a rotation gives it one when it pushes it out of the list.
  const listed = parseBackups(settings.BULLETPROOF_SIGNING_SECRET_BK ?? '').filter(
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

/** The secrets of a setting's JSON array whose entries are texts or `{ secret, notAfter }`, newest first. Empty text is no backup. */
export function parseBackups(text: string, setting = 'BULLETPROOF_SIGNING_SECRET_BK'): readonly BackupSecret[] {
  if (text.trim() === '') return []
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(setting, 'it is not JSON')
  }
  if (!Array.isArray(entries)) throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(setting, 'it is not an array')
  return entries.map((entry, index) => parseBackup(setting, entry, index))
}

/** The secrets of a setting's JSON array of texts, newest first. Empty text is none. Throws like {@link parseBackups}. */
export function parseSecrets(text: string, setting: string): readonly string[] {
  return parseBackups(text, setting).map(({ secret, notAfter }, index) => {
    // An end that nobody looks at would be worse than none.
    if (notAfter !== undefined)
      throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(setting, `entry ${index} has a "notAfter", which counts for signing secrets only`)
    return secret
  })
}

function parseBackup(setting: string, entry: unknown, index: number): BackupSecret {
  if (typeof entry === 'string' && entry !== '') return { secret: entry }
  const { secret, notAfter } = (typeof entry === 'object' && entry !== null ? entry : {}) as { secret?: unknown; notAfter?: unknown }
  if (typeof secret !== 'string' || secret === '')
    throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(setting, `entry ${index} is neither a text nor an object with "secret"`)
  if (notAfter === undefined) return { secret }
  const until = typeof notAfter === 'string' ? Date.parse(notAfter) : notAfter
  if (typeof until !== 'number' || !Number.isFinite(until))
    throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(setting, `"notAfter" of entry ${index} is neither ms since 1970 nor an ISO date`)
  return { secret, notAfter: until }
}
