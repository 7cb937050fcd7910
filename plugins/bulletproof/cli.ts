import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { defineCommand, parseBackups, updateEnvFile } from 'zin'

const SECRET = 'BULLETPROOF_SIGNING_SECRET'
const BACKUPS = 'BULLETPROOF_SIGNING_SECRET_BK'

/** `zin key:bulletproof`. */
export const keyCommand = defineCommand({
  name: 'key:bulletproof',
  aliases: ['bulletproof:key', 'key:signer'],
  summary: 'Make a new signing secret in .env; the present one becomes a backup',
  needs: 'config',
  options: {
    show: { type: 'boolean', summary: 'Print a new secret and write nothing' },
    'max-backups': { type: 'int', summary: 'How many earlier secrets are kept', default: 5, min: 0, max: 50 },
  },
  async run({ options, print, host }) {
    const secret = newSecret()
    if (options.show) {
      print.line(secret)
      return
    }
    const file = join(host.app.rootDir, '.env')
    let backups: readonly unknown[] = []
    let present: Readonly<Record<string, string | undefined>> = {}
    await updateEnvFile(file, (values) => {
      present = values
      backups = rotate(present[SECRET], present[BACKUPS] ?? '', options['max-backups'])
      return { [SECRET]: secret, [BACKUPS]: envJson(backups) }
    })
    print.line(`${SECRET}: new secret in ${file}, fingerprint ${fingerprint(secret)}`)
    print.line(`${BACKUPS}: ${backups.length} earlier ${backups.length === 1 ? 'secret' : 'secrets'} kept`)
    const settings = host.settings()
    const hidden = [SECRET, BACKUPS].filter((name) => settings.some((row) => row.name === name && row.source === 'environment'))
    for (const name of hidden)
      print.error(
        `${name} is also set in the environment, which wins over .env and stays in force; change it there too, and restart the app`,
      )
    if (!hidden.includes(SECRET)) print.line('An app that runs takes the new secret over within two seconds')
    if (hidden.length === 0) print.line('Requests signed with a kept secret are accepted until it leaves the list')
  },
})

/** 32 random bytes as text without `'`, `"` or `#`. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** The present secret in front of the earlier ones, each once, at most `max` of them. */
export function rotate(present: string | undefined, backups: string, max: number): readonly unknown[] {
  const earlier = parseBackups(backups).filter((entry) => entry.secret !== present)
  const all = present === undefined || present === '' ? earlier : [{ secret: present }, ...earlier]
  return all.slice(0, max).map((entry) => ('notAfter' in entry ? entry : entry.secret))
}

/** Tells secrets apart without telling them. */
function fingerprint(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 12)
}

/** JSON that fits between single quotes of a `.env` line. */
function envJson(value: unknown): string {
  return JSON.stringify(value).replaceAll("'", '\\u0027')
}
