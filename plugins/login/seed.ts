import { join } from 'node:path'
import { type Logger, messageOf, updateEnvFile } from 'zin'
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
  /** Writes a line where the operator sees it, past the logger. Absent when that is no place for a password. */
  readonly print: ((line: string) => void) | undefined
  readonly log: Logger
}

/** Makes the demo user if the table has none of that email. A password that is made is kept in `.env`, and printed once. */
export async function seedUser({ accounts, email, role, setting, password, rootDir, print, log }: SeedParts): Promise<void> {
  if (await accounts.has(email)) return
  const made = password === '' ? newPassword() : undefined
  const user = await accounts.add({ email, role, password: made ?? password })
  // Another process of the app was first, and it has told its password.
  if (user === undefined) return
  log.info({ userId: user.id, email }, 'made the user of the option seed')
  if (made === undefined) return
  const kept = await updateEnvFile(join(rootDir, '.env'), () => ({ [setting]: made })).then(
    () => `kept in .env as ${setting}`,
    (error: unknown) => {
      const where =
        print === undefined ? 'nobody knows it; give the user another one with "zin user:password"' : 'it is printed and nowhere else'
      log.warn({ reason: messageOf(error) }, `${setting} could not be written to .env; ${where}`)
      return 'not kept anywhere'
    },
  )
  print?.(`User ${email} was made with the password ${made} (${kept}; this is printed once)`)
}
