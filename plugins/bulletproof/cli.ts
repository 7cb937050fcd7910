import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Clock, type Command, defineCommand, updateEnvFile } from 'zin'
import { type BackupSecret, parseBackups } from 'zin/signing'
import { backupsSetting, sharedSecret } from './shared-keyring.js'

const SECRET = 'BULLETPROOF_SIGNING_SECRET'
const BACKUPS = backupsSetting

export interface KeyCommandParts {
  /** How far a timestamp may differ from the current time, in ms. */
  readonly windowMs: number
  readonly clock: Clock
}

/** `zin key:bulletproof`: replaces the signing secret. */
export const keyCommand = ({ windowMs, clock }: KeyCommandParts): Command =>
  defineCommand({
    name: 'key:bulletproof',
    aliases: ['bulletproof:key', 'key:signer'],
    summary: 'Create a new signing secret in .env; the current one becomes a backup',
    needs: 'config',
    options: {
      show: { type: 'boolean', summary: 'Print a new secret and write nothing' },
      'max-backups': { type: 'int', summary: 'How many earlier secrets are kept without an expiry', default: 5, min: 0, max: 50 },
    },
    async run({ options, print, host, env }) {
      const secret = newSecret()
      if (options.show) {
        print.line(secret)
        return
      }
      const file = join(host.app.rootDir, '.env')
      let backups: readonly BackupSecret[] = []
      // A request dated one window ahead stays valid for two windows.
      const endsAt = clock.now() + 2 * windowMs
      await updateEnvFile(file, (values) => {
        const inForce = values[SECRET] || sharedSecret(env).secret || undefined
        backups = rotate(inForce, values[BACKUPS] ?? '', { max: options['max-backups'], now: clock.now(), endsAt })
        return { [SECRET]: secret, [BACKUPS]: envJson(backups.map((entry) => (entry.notAfter === undefined ? entry.secret : entry))) }
      })
      print.line(`${SECRET}: new secret in ${file}, fingerprint ${fingerprint(secret)}`)
      print.line(`${BACKUPS}: ${backups.length} earlier ${backups.length === 1 ? 'secret' : 'secrets'} kept`)
      const ending = backups.slice(options['max-backups']).length
      if (ending > 0)
        print.line(`${ending} of them beyond --max-backups: valid for ${(2 * windowMs) / 1000} s more, for requests in flight`)
      const settings = host.settings()
      const hidden = [SECRET, BACKUPS].filter((name) => settings.some((row) => row.name === name && row.source === 'environment'))
      for (const name of hidden)
        print.error(
          `${name} is also set in the environment, which overrides .env and stays in force; change it there too, and restart the app`,
        )
      if (!hidden.includes(SECRET)) print.line('A running app uses the new secret within two seconds')
      if (hidden.length === 0) print.line('Requests signed with a kept secret are accepted until it leaves the list')
    },
  })

/** 32 random bytes as text without `'`, `"` or `#`. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Returns the new list of backups: the current secret, then the earlier ones, without duplicates. Those beyond `max` get `endsAt` as their
 * expiry, because requests signed with them may be in flight. Expired ones are omitted.
 */
export function rotate(
  present: string | undefined,
  backups: string,
  { max, now, endsAt }: { readonly max: number; readonly now: number; readonly endsAt: number },
): readonly BackupSecret[] {
  const earlier = parseBackups(backups, BACKUPS).filter(({ secret, notAfter = endsAt }) => secret !== present && notAfter >= now)
  const all: readonly BackupSecret[] = present === undefined ? earlier : [{ secret: present }, ...earlier]
  return all.map((entry, index) => (index < max ? entry : { ...entry, notAfter: Math.min(entry.notAfter ?? endsAt, endsAt) }))
}

/** Identifies a secret without revealing it. */
function fingerprint(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 12)
}

/** JSON without single quotes, for a quoted value in `.env`. */
function envJson(value: unknown): string {
  return JSON.stringify(value).replaceAll("'", '\\u0027')
}
