import { randomUUID } from 'node:crypto'
import type { Clock } from 'zin'
import { canonicalEmail } from './email.js'
import { loginErrors } from './errors.js'
import type { VerifiedUser } from './options.js'
import type { Passwords } from './passwords.js'
import type { User, UserChange, Users } from './store/users.js'

export interface NewAccount {
  readonly email: string
  readonly password: string
  /** Default `user`. */
  readonly role?: string | undefined
}

/** A user whose password was just verified. */
export interface CheckedUser extends VerifiedUser {
  /** Whether the user is still enabled with the same password: both may change while a session is created. */
  readonly stands: () => Promise<boolean>
}

/** The built-in users: rows of a table and their passwords. */
export interface Accounts {
  /** The user if the password is correct. One password check in every case. */
  verify(email: string, password: string): Promise<CheckedUser | undefined>
  /** `undefined` when the email is taken. Throws USER_INVALID. */
  add(account: NewAccount): Promise<User | undefined>
  has(email: string): Promise<boolean>
  find(email: string): Promise<User | undefined>
  /** Throws USER_INVALID. */
  checkPassword(password: string): void
  /** Throws USER_NOT_FOUND. */
  get(email: string): Promise<User>
  /** The user as of now; undefined when it is gone or disabled. */
  current(id: string): Promise<VerifiedUser | undefined>
  list(): Promise<readonly User[]>
  /** Disables the user. Throws USER_NOT_FOUND. */
  disable(email: string): Promise<User>
  /** Enables the user. Throws USER_NOT_FOUND. */
  enable(email: string): Promise<User>
  /** Sets the role, for tokens that are issued from now on. Throws USER_NOT_FOUND and USER_INVALID. */
  setRole(email: string, role: string): Promise<User>
  /** Sets the password. Throws USER_NOT_FOUND and USER_INVALID. */
  setPassword(email: string, password: string): Promise<User>
}

const emailGrammar = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u
const minPassword = 8
const maxPassword = 128

export function createAccounts(users: Users, passwords: Passwords, clock: Clock): Accounts {
  const existing = async (email: string): Promise<User> => {
    const user = await users.find(canonicalEmail(email))
    if (user === undefined) throw loginErrors.USER_NOT_FOUND(email)
    return user
  }
  const change = async (user: User, to: UserChange): Promise<void> => {
    if (!(await users.change(user.email, to))) throw loginErrors.USER_NOT_FOUND(user.email)
  }

  return {
    async verify(email, password) {
      const user = await users.find(canonicalEmail(email))
      const matches = await passwords.check(password, user?.passwordHash)
      if (!matches || user === undefined || user.disabledAt !== undefined) return undefined
      const stands = async (): Promise<boolean> => {
        const now = await users.find(user.email)
        return now?.id === user.id && now.passwordHash === user.passwordHash && now.disabledAt === undefined
      }
      return { id: user.id, email: user.email, role: user.role, stands }
    },
    async add({ email, password, role = 'user' }) {
      const id = canonicalEmail(email)
      if (id.length > 320 || !emailGrammar.test(id)) throw loginErrors.USER_INVALID(`"${email}" is not an email address`)
      checkPassword(password)
      checkRole(role)
      const user: User = { id: randomUUID(), email: id, passwordHash: await passwords.hash(password), role, createdAt: clock.now() }
      return (await users.add(user)) ? user : undefined
    },
    has: async (email) => (await users.find(canonicalEmail(email))) !== undefined,
    find: (email) => users.find(canonicalEmail(email)),
    checkPassword,
    get: existing,
    async current(id) {
      const user = await users.findById(id)
      return user === undefined || user.disabledAt !== undefined ? undefined : { id: user.id, email: user.email, role: user.role }
    },
    list: () => users.list(),
    async disable(email) {
      const user = await existing(email)
      if (user.disabledAt !== undefined) return user
      const disabledAt = clock.now()
      await change(user, { disabledAt })
      return { ...user, disabledAt }
    },
    async enable(email) {
      const { disabledAt: _, ...user } = await existing(email)
      await change(user, { disabledAt: null })
      return user
    },
    async setRole(email, role) {
      checkRole(role)
      const user = await existing(email)
      await change(user, { role })
      return { ...user, role }
    },
    async setPassword(email, password) {
      checkPassword(password)
      const user = await existing(email)
      const passwordHash = await passwords.hash(password)
      await change(user, { passwordHash })
      return { ...user, passwordHash }
    },
  }
}

function checkRole(role: string): void {
  if (role === '' || role.length > 100) throw loginErrors.USER_INVALID('A role must have 1 to 100 characters')
}

function checkPassword(password: string): void {
  if (password.length < minPassword || password.length > maxPassword)
    throw loginErrors.USER_INVALID(`A password must have ${minPassword} to ${maxPassword} characters; this one has ${password.length}`)
}
