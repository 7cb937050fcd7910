import { randomBytes } from 'node:crypto'
import { type Clock, clientNetwork, type ListenerFailure, type Logger, messageOf } from 'zin'
import { sha256Hex } from 'zin/signing'
import type { Accounts } from '../accounts.js'
import type { Counters } from '../counters.js'
import { canonicalEmail } from '../email.js'
import { loginErrors } from '../errors.js'
import { Gate } from '../gate.js'
import type { AccountMail } from '../hooks.js'
import type { OneTimeTokens, Purpose } from '../store/one-time-tokens.js'

export interface MailParts {
  readonly accounts: Accounts
  readonly store: OneTimeTokens
  /** What the app mails. */
  readonly purposes: readonly Purpose[]
  readonly counters: Counters
  /** Sends a mail by the listeners of the hook. */
  readonly send: Readonly<Record<Purpose, (mail: AccountMail) => Promise<readonly ListenerFailure[]>>>
  /** ms. */
  readonly lifeMs: Readonly<Record<Purpose, number>>
  readonly perAccountAndHour: number
  readonly perAddressAndHour: number
  /** Ends every session of the user. */
  readonly endSessions: (userId: string) => Promise<unknown>
  readonly clock: Clock
  readonly log: Logger
}

/** Password resets and proofs of an email address, by one-time tokens that the app mails. */
export interface Mails {
  /**
   * Has a token mailed to the user with this email, if there is one: nobody can tell, because this does not wait for it. Throws
   * RATE_LIMITED, and LOGIN_BUSY when too many mails wait.
   */
  request(purpose: Purpose, email: string, address: string): Promise<void>
  /** Has a token to verify the email mailed to a new user, if the app verifies emails. Does not wait, and drops the mail if too many wait. */
  welcome(email: string): void
  /** Sets the password and ends the sessions of the user; the email is proved, too. Throws ONE_TIME_TOKEN_INVALID and USER_INVALID. */
  resetPassword(token: string, password: string): Promise<{ readonly userId: string }>
  /** Throws ONE_TIME_TOKEN_INVALID. */
  verifyEmail(token: string): Promise<{ readonly userId: string }>
  isVerified(userId: string, email: string): Promise<boolean>
  sweep(): Promise<void>
  /** Resolves when no mail is being sent. */
  settled(): Promise<void>
}

const hour = 3_600_000
const maxSending = 4
const maxWaiting = 250

export function createMails(parts: MailParts): Mails {
  const { accounts, store, counters, clock, log } = parts
  const gate = new Gate(maxSending, maxWaiting, loginErrors.LOGIN_BUSY)
  const pending = new Set<Promise<void>>()

  /** Counted for unknown emails, too. */
  const limit = async (purpose: Purpose, email: string, address: string): Promise<void> => {
    for (const [key, most] of [
      [`login:mail:address:${clientNetwork(address)}`, parts.perAddressAndHour],
      [`login:mail:${purpose}:${sha256Hex(canonicalEmail(email)).slice(0, 32)}`, parts.perAccountAndHour],
    ] as const)
      if ((await counters.add(key, hour)) > most) throw loginErrors.RATE_LIMITED(await counters.remaining(key, hour))
  }

  const mail = async (purpose: Purpose, email: string): Promise<void> => {
    const user = await accounts.find(email)
    if (user === undefined || user.disabledAt !== undefined) return
    if (purpose === 'email' && (await store.isVerified(user.id, user.email))) return
    const token = randomBytes(32).toString('base64url')
    const expiresAt = clock.now() + parts.lifeMs[purpose]
    // It has 256 bits, so a plain hash is enough.
    await store.add({ hash: sha256Hex(token), purpose, userId: user.id, email: user.email, expiresAt })
    const { id, role } = user
    for (const { error, plugin } of await parts.send[purpose]({ user: { id, email: user.email, role }, token, expiresAt }))
      log.error({ userId: id, plugin, reason: messageOf(error) }, `the ${purpose} mail was not sent`)
  }

  const background = (purpose: Purpose, email: string): void => {
    const work = gate
      .run(() => mail(purpose, email))
      .catch((error: unknown) => log.error({ reason: messageOf(error) }, `a ${purpose} mail was not sent`))
      .finally(() => pending.delete(work))
    pending.add(work)
  }

  /** The user of a token, if it still has the email to which the token was sent. */
  const userOf = async (purpose: Purpose, token: string) => {
    const taken = await store.take(purpose, sha256Hex(token), clock.now())
    const user = taken && (await accounts.find(taken.email))
    if (user === undefined || user.id !== taken?.userId || user.disabledAt !== undefined) throw loginErrors.ONE_TIME_TOKEN_INVALID()
    return user
  }

  return {
    async request(purpose, email, address) {
      await limit(purpose, email, address)
      if (pending.size >= maxWaiting + maxSending) throw loginErrors.LOGIN_BUSY()
      background(purpose, email)
    },
    welcome(email) {
      if (parts.purposes.includes('email')) background('email', email)
    },
    async resetPassword(token, password) {
      // First, so that a password that is too short does not use up the token.
      accounts.checkPassword(password)
      const { id, email } = await userOf('password', token)
      await accounts.setPassword(email, password)
      await store.removeAll(id, 'password')
      await store.setVerified(id, email, clock.now())
      await parts.endSessions(id)
      log.info({ userId: id }, 'a password was reset')
      return { userId: id }
    },
    async verifyEmail(token) {
      const { id, email } = await userOf('email', token)
      await store.setVerified(id, email, clock.now())
      await store.removeAll(id, 'email')
      return { userId: id }
    },
    isVerified: (userId, email) => store.isVerified(userId, email),
    sweep: () => store.sweep(clock.now()),
    settled: async () => void (await Promise.all(pending)),
  }
}
