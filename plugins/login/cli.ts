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
  /** Where `--password-stdin` reads. */
  readonly input: () => AsyncIterable<Uint8Array | string>
}

const isoTime = (ms: number | undefined): string => (ms === undefined ? '' : new Date(ms).toISOString())

export function userCommands({ accounts, tokens, devices, input }: UserCommandParts): readonly Command[] {
  return [
    defineCommand({
      name: 'user:add',
      summary: 'Adds a user to the built-in users table',
      args: [{ name: 'email', summary: 'Email address; upper and lower case are the same' }],
      options: {
        role: { type: 'string', summary: 'Claim role of the tokens', default: 'user' },
        'password-stdin': { type: 'boolean', summary: 'Reads the password from the first line of standard input' },
        generate: { type: 'boolean', summary: 'Makes a password and prints it once' },
      },
      json: true,
      needs: 'services',
      async run({ args, options, print }) {
        if (options.generate === options['password-stdin'])
          return refuse(print, 'Say how the password comes: --password-stdin or --generate')
        const made = options.generate ? newPassword() : undefined
        const email = args.email ?? ''
        const user = await accounts.add({ email, role: options.role, password: made ?? (await firstLine(input())) })
        if (user === undefined) throw loginErrors.USER_EXISTS(email)
        print.record({ id: user.id, email: user.email, role: user.role, ...(made !== undefined && { password: made }) })
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
      name: 'user:disable',
      summary: 'Refuses further logins of a user and ends the tokens and devices there are',
      args: [{ name: 'email', summary: 'Email address' }],
      needs: 'services',
      async run({ args, print }) {
        const user = await accounts.disable(args.email ?? '')
        await tokens().revokeUser(user.id)
        const ended = await devices().removeAll(user.id)
        print.line(`${user.email} is disabled; ${ended} device(s) removed`)
      },
    }),
  ]
}

function refuse(print: Printer, why: string): number {
  print.error(why)
  return 2
}

/** The first line, without its end; at most a little more than a password may have. */
async function firstLine(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (text.includes('\n') || text.length > 1024) break
  }
  return text.split(/\r?\n/)[0] ?? ''
}
