import { type Command, defineCommand, type Printer } from 'zin'
import type { Devices } from 'zin/plugins/bulletproof'
import type { Tokens } from 'zin/plugins/jwt'
import type { Accounts } from './accounts.js'
import { loginErrors } from './errors.js'
import { newPassword } from './passwords.js'

export interface UserCommandParts {
  readonly accounts: Accounts
  readonly tokens: () => Tokens
  readonly devices: () => Devices
  /** The input of `--password-stdin`. */
  readonly input: () => AsyncIterable<Uint8Array | string>
}

/** The source of a password; never an argument, which other users of the machine can read. */
const passwordOptions = {
  'password-stdin': { type: 'boolean', summary: 'Reads the password from the first line of standard input' },
  generate: { type: 'boolean', summary: 'Generates a password and prints it once' },
} as const

const isoTime = (ms: number | undefined): string => (ms === undefined ? '' : new Date(ms).toISOString())

export function userCommands({ accounts, tokens, devices, input }: UserCommandParts): readonly Command[] {
  const passwordOf = async (generate: boolean): Promise<{ readonly password: string; readonly made?: { readonly password: string } }> => {
    if (!generate) return { password: await firstLine(input()) }
    const password = newPassword()
    return { password, made: { password } }
  }
  /** Ends every session of a user. Returns the number of removed devices. */
  const endSessions = async (id: string): Promise<number> => {
    await tokens().revokeUser(id)
    return devices().removeAll(id)
  }

  return [
    defineCommand({
      name: 'user:add',
      summary: 'Adds a user to the built-in users table',
      args: [{ name: 'email', summary: 'Email address, case-insensitive' }],
      options: {
        role: { type: 'string', summary: 'Claim role in tokens', default: 'user' },
        ...passwordOptions,
      },
      json: true,
      needs: 'services',
      async run({ args, options, print }) {
        if (options.generate === options['password-stdin']) return refuse(print)
        const email = args.email ?? ''
        const { password, made } = await passwordOf(options.generate)
        const user = await accounts.add({ email, role: options.role, password })
        if (user === undefined) throw loginErrors.USER_EXISTS(email)
        print.record({ id: user.id, email: user.email, role: user.role, ...made })
        return 0
      },
    }),
    defineCommand({
      name: 'user:list',
      summary: 'Lists the users of the built-in users table',
      json: true,
      needs: 'services',
      async run({ print }) {
        const users = await accounts.list()
        print.table(
          users.map(({ id, email, role, createdAt, disabledAt }) => ({
            id,
            email,
            role,
            created: isoTime(createdAt),
            disabled: isoTime(disabledAt),
          })),
        )
      },
    }),
    defineCommand({
      name: 'user:password',
      summary: 'Sets a new password, revokes the tokens of the user and removes the devices',
      args: [{ name: 'email', summary: 'Email address' }],
      options: passwordOptions,
      json: true,
      needs: 'services',
      async run({ args, options, print }) {
        if (options.generate === options['password-stdin']) return refuse(print)
        const { password, made } = await passwordOf(options.generate)
        const user = await accounts.setPassword(args.email ?? '', password)
        print.record({ id: user.id, email: user.email, devicesRemoved: await endSessions(user.id), ...made })
        return 0
      },
    }),
    defineCommand({
      name: 'user:disable',
      summary: 'Refuses further logins of a user, revokes the tokens and removes the devices',
      args: [{ name: 'email', summary: 'Email address' }],
      needs: 'services',
      async run({ args, print }) {
        // Also for a user who is already disabled: an earlier call may have failed halfway.
        const user = await accounts.disable(args.email ?? '')
        print.line(`${user.email} is disabled; ${await endSessions(user.id)} device(s) removed`)
      },
    }),
    defineCommand({
      name: 'user:enable',
      summary: 'Lets a disabled user log in again, with the same password',
      args: [{ name: 'email', summary: 'Email address' }],
      needs: 'services',
      async run({ args, print }) {
        const { email } = await accounts.enable(args.email ?? '')
        print.line(`${email} can log in again`)
      },
    }),
  ]
}

function refuse(print: Printer): number {
  print.error('Pass either --password-stdin or --generate')
  return 2
}

/** The first line without its line break, cut off slightly above the maximum length of a password. */
async function firstLine(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (text.includes('\n') || text.length > 1024) break
  }
  return text.split(/\r?\n/)[0] ?? ''
}
