import { randomUUID } from 'node:crypto'
import type { Clock } from 'zin'
import { loginErrors } from './errors.js'
import type { VerifiedUser } from './options.js'
import type { Passwords } from './passwords.js'
import type { User, Users } from './store/users.js'

export interface NewAccount {
  readonly email: string
  readonly password: string
  /** Default `user`. */
  readonly role?: string | undefined
}

/** The built-in users: rows of a table and their passwords. */
export interface Accounts {
  /** The user when the password is right. One password check in every case. */
  verify(email: string, password: string): Promise<VerifiedUser | undefined>
  /** `undefined` when the email is taken. Throws USER_INVALID. */
  add(account: NewAccount): Promise<User | undefined>
  has(email: string): Promise<boolean>
  list(): Promise<readonly User[]>
  /** The user that is disabled now. Throws USER_NOT_FOUND. */
  disable(email: string): Promise<User>
}

const emailGrammar = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u
const minPassword = 8
const maxPassword = 128

export function createAccounts(users: Users, passwords: Passwords, clock: Clock): Accounts {
  return {
    async verify(email, password) {
      const user = await users.find(canonical(email))
      const fits = await passwords.check(password, user?.passwordHash)
      if (!fits || user === undefined || user.disabledAt !== undefined) return undefined
      return { id: user.id, email: user.email, role: user.role }
    },
    async add({ email, password, role = 'user' }) {
      const id = canonical(email)
      if (id.length > 320 || !emailGrammar.test(id)) throw loginErrors.USER_INVALID(`"${email}" is no email address`)
      if (password.length < minPassword || password.length > maxPassword) {
        throw loginErrors.USER_INVALID(`A password has ${minPassword} to ${maxPassword} characters; this one has ${password.length}`)
      }
      if (role === '' || role.length > 100) throw loginErrors.USER_INVALID('A role has 1 to 100 characters')
      const user: User = { id: randomUUID(), email: id, passwordHash: await passwords.hash(password), role, createdAt: clock.now() }
      return (await users.add(user)) ? user : undefined
    },
    has: async (email) => (await users.find(canonical(email))) !== undefined,
    list: () => users.list(),
    async disable(email) {
      const at = clock.now()
      const user = await users.find(canonical(email))
      if (user === undefined || !(await users.disable(user.email, at))) throw loginErrors.USER_NOT_FOUND(email)
      return { ...user, disabledAt: at }
    },
  }
}

function canonical(email: string): string {
  return email.toLowerCase()
}
