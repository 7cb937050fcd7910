import { chmod, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Logger, messageOf } from 'zin'
import type { Accounts } from './accounts.js'
import { newPassword } from './passwords.js'

export interface SeedParts {
  readonly accounts: Accounts
  readonly email: string
  readonly role: string | undefined
  readonly setting: string
  /** Empty: one is made. */
  readonly password: string
  readonly rootDir: string
  /** Writes a line where the operator sees it, past the logger. */
  readonly print: (line: string) => void
  readonly log: Logger
}

/** Makes the demo user if the table has none of that email. A password that is made is printed once and kept in `.env`. */
export async function seedUser({ accounts, email, role, setting, password, rootDir, print, log }: SeedParts): Promise<void> {
  if (await accounts.has(email)) return
  const made = password === '' ? newPassword() : undefined
  const user = await accounts.add({ email, role, password: made ?? password })
  // Another process of the app was first, and it has told its password.
  if (user === undefined) return
  log.info({ userId: user.id, email }, 'made the user of the option seed')
  if (made === undefined) return
  const kept = await keep(join(rootDir, '.env'), setting, made).then(
    () => `kept in .env as ${setting}`,
    (error: unknown) => {
      log.warn({ reason: messageOf(error) }, `${setting} could not be written to .env; it is printed and nowhere else`)
      return 'not kept anywhere'
    },
  )
  print(`User ${email} was made with the password ${made} (${kept}; this is printed once)`)
}

/** Sets one line of an env file and keeps the others; only the owner may read it. */
async function keep(file: string, name: string, value: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const line = `${name}=${value}`
  const lines = text.split('\n').filter((old) => !new RegExp(`^\\s*(export\\s+)?${name}\\s*=`).test(old))
  while (lines.at(-1) === '') lines.pop()
  const draft = `${file}.${process.pid}.tmp`
  await writeFile(draft, `${[...lines, line].join('\n')}\n`, { mode: 0o600 })
  await chmod(draft, 0o600)
  await rename(draft, file)
}
