import { signingErrors } from './errors.js'

/** A replaced secret that is still accepted for a while. */
export interface BackupSecret {
  readonly secret: string
  /** Expiry in ms since 1970. Default: the secret is valid as long as it is in the list. */
  readonly notAfter?: number
}

/**
 * Parses the secrets of a setting: a JSON array of strings or `{ secret, notAfter }`, newest first. `notAfter` is ms since 1970 or an ISO
 * date. Empty text is an empty list. Throws SIGNING_SECRET_BACKUPS_INVALID, which never quotes the content.
 *
 * @example
 * parseBackups('["old", {"secret": "older", "notAfter": "2026-02-01T00:00:00Z"}]', 'MY_SECRET_BK')
 */
export function parseBackups(text: string, setting: string): readonly BackupSecret[] {
  return parseList(text, setting, 'secrets or of {"secret", "notAfter"}')
}

/** Parses the secrets of a setting: a JSON array of strings, newest first. Empty text is an empty list. Throws like {@link parseBackups}. */
export function parseSecrets(text: string, setting: string): readonly string[] {
  return parseList(text, setting, 'secrets').map(({ secret, notAfter }, index) => {
    // An expiry that is not checked would be worse than none.
    if (notAfter !== undefined)
      throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(
        setting,
        `entry ${index} has a "notAfter", which is supported for signing secrets only`,
        'secrets',
      )
    return secret
  })
}

function parseList(text: string, setting: string, entriesAre: string): readonly BackupSecret[] {
  if (text.trim() === '') return []
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(setting, 'it is not JSON', entriesAre)
  }
  if (!Array.isArray(entries)) throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(setting, 'it is not an array', entriesAre)
  return entries.map((entry, index) => {
    const parsed = parseBackup(entry)
    if (typeof parsed === 'string') throw signingErrors.SIGNING_SECRET_BACKUPS_INVALID(setting, `entry ${index} ${parsed}`, entriesAre)
    return parsed
  })
}

/** Returns the entry, or a text that describes its problem. */
function parseBackup(entry: unknown): BackupSecret | string {
  if (typeof entry === 'string' && entry !== '') return { secret: entry }
  const { secret, notAfter } = (typeof entry === 'object' && entry !== null ? entry : {}) as { secret?: unknown; notAfter?: unknown }
  if (typeof secret !== 'string' || secret === '') return 'is neither a string nor an object with "secret"'
  if (notAfter === undefined) return { secret }
  const until = typeof notAfter === 'string' ? Date.parse(notAfter) : notAfter
  if (typeof until !== 'number' || !Number.isFinite(until)) return 'has a "notAfter" that is neither ms since 1970 nor an ISO date'
  return { secret, notAfter: until }
}
