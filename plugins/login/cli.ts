import { type ActionFacts, type Command, defineCommand, type Manage, type Printer } from 'zin'
import type { Devices } from 'zin/plugins/bulletproof'
import type { Tokens } from 'zin/plugins/jwt'
import type { AccountData } from './account-data.js'
import type { Accounts } from './accounts.js'
import { accountTarget } from './email.js'
import { loginErrors } from './errors.js'
import { newPassword } from './passwords.js'
import type { User } from './store/users.js'

export interface UserCommandParts {
  readonly manage: Manage
  readonly accounts: Accounts
  /** Everything that is stored of the accounts. */
  readonly data: AccountData
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

/** Whoever can run commands on this machine. */
export const actor = { kind: 'local', id: 'local', via: 'cli' } as const

const isoTime = (ms: number | undefined): string => (ms === undefined ? '' : new Date(ms).toISOString())

export function userCommands({ accounts, data, tokens, devices, input, manage }: UserCommandParts): readonly Command[] {
  const passwordOf = async (generate: boolean): Promise<{ readonly password: string; readonly made?: { readonly password: string } }> => {
    if (!generate) return { password: await firstLine(input()) }
    const password = newPassword()
    return { password, made: { password } }
  }
  /** Performs an action on a user, for the audit log: without the email address, with the id once it is known. */
  const managed = <T extends Pick<User, 'id'>>(
    verb: string,
    email: string,
    work: () => Promise<T>,
    after?: (user: T) => unknown,
  ): Promise<T> =>
    manage({ action: `user.${verb}`, target: accountTarget(email), actor }, async (note) => {
      const user = await work()
      const facts: ActionFacts = { target: `user:${user.id}`, ...(after && { after: after(user) }) }
      note(facts)
      return user
    })
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
        const add = async (): Promise<User> => {
          const added = await accounts.add({ email, role: options.role, password })
          if (added === undefined) throw loginErrors.USER_EXISTS(email)
          return added
        }
        const user = await managed('add', email, add, ({ role }) => ({ role }))
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
        const email = args.email ?? ''
        const set = async () => {
          const user = await accounts.setPassword(email, password)
          return { id: user.id, email: user.email, devicesRemoved: await endSessions(user.id) }
        }
        print.record({ ...(await managed('password', email, set)), ...made })
        return 0
      },
    }),
    defineCommand({
      name: 'user:role',
      summary: 'Sets the role of a user and ends the sessions, so that it applies at once',
      args: [
        { name: 'email', summary: 'Email address' },
        { name: 'role', summary: 'Claim role in tokens' },
      ],
      json: true,
      needs: 'services',
      async run({ args, print }) {
        const email = args.email ?? ''
        const set = async () => {
          const user = await accounts.setRole(email, args.role ?? '')
          return { id: user.id, email: user.email, role: user.role, devicesRemoved: await endSessions(user.id) }
        }
        print.record(await managed('role', email, set, ({ role }) => ({ role })))
        return 0
      },
    }),
    defineCommand({
      name: 'user:logout',
      summary: 'Ends every session of a user: revokes the tokens and refresh tokens and removes the devices',
      args: [{ name: 'email', summary: 'Email address' }],
      json: true,
      needs: 'services',
      async run({ args, print }) {
        const given = args.email ?? ''
        const end = async () => {
          const user = await accounts.get(given)
          return { id: user.id, email: user.email, devicesRemoved: await endSessions(user.id) }
        }
        print.record(await managed('logout', given, end))
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
        const given = args.email ?? ''
        const disable = async () => {
          const user = await accounts.disable(given)
          return { ...user, removed: await endSessions(user.id) }
        }
        const { email, removed } = await managed('disable', given, disable)
        print.line(`${email} is disabled; ${removed} device(s) removed`)
      },
    }),
    defineCommand({
      name: 'user:enable',
      summary: 'Lets a disabled user log in again, with the same password',
      args: [{ name: 'email', summary: 'Email address' }],
      needs: 'services',
      async run({ args, print }) {
        const given = args.email ?? ''
        const { email } = await managed('enable', given, () => accounts.enable(given))
        print.line(`${email} can log in again`)
      },
    }),
    defineCommand({
      name: 'user:delete',
      summary: 'Deletes a user with all that is stored about the account, and ends the sessions',
      args: [{ name: 'email', summary: 'Email address' }],
      needs: 'services',
      confirms: true,
      async run({ args, confirm, print }) {
        const given = args.email ?? ''
        const { email } = await accounts.get(given)
        await confirm(`This deletes the account ${email}, its devices and its second factor`)
        const remove = async () => {
          const user = await accounts.get(given)
          return { ...user, removed: (await data.erase(user.id)) + (await data.forget(user.id)) }
        }
        const { removed } = await managed('delete', given, remove)
        print.line(`${email} is deleted, with ${removed - 1} other record(s)`)
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
