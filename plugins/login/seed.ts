import { join } from 'node:path'
import { type Logger, messageOf, updateEnvFile } from 'zin'
import type { Accounts } from './accounts.js'
import { newPassword } from './passwords.js'

export interface SeedParts {
  readonly accounts: Accounts
  readonly email: string
  readonly role: string | undefined
  readonly setting: string
  /** Empty: a password is generated. */
  readonly password: string
  readonly rootDir: string
  /** Prints a line for the operator without the logger. Absent where a password must not be printed. */
  readonly print: ((line: string) => void) | undefined
  readonly log: Logger
}

/** Creates the demo user if no user has that email. A generated password is written to `.env` and printed once. */
export async function seedUser({ accounts, email, role, setting, password, rootDir, print, log }: SeedParts): Promise<void> {
  if (await accounts.has(email)) return
  const made = password === '' ? newPassword() : undefined
  const user = await accounts.add({ email, role, password: made ?? password })
  // Another process of the app was first and has printed its password.
  if (user === undefined) return
  log.info({ userId: user.id, email }, 'created the user of the option seed')
  if (made === undefined) return
  const kept = await updateEnvFile(join(rootDir, '.env'), () => ({ [setting]: made })).then(
    () => `stored in .env as ${setting}`,
    (error: unknown) => {
      const where = print === undefined ? 'it is lost; set another one with "zin user:password"' : 'it is printed only here'
      log.warn({ reason: messageOf(error) }, `${setting} could not be written to .env; ${where}`)
      return 'not stored anywhere'
    },
  )
  print?.(`User ${email} was created with the password ${made} (${kept}; this is printed once)`)
}
