import { randomBytes } from 'node:crypto'
import type * as Otpauth from 'otpauth'
import type { Clock } from 'zin'
import { type Sealer, sha256Hex } from 'zin/signing'
import type { Counters } from '../counters.js'
import { loginErrors } from '../errors.js'
import type { TotpRecord, TotpStore } from '../store/totp.js'

export interface TotpParts {
  readonly store: TotpStore
  readonly otpauth: Pick<typeof Otpauth, 'TOTP' | 'Secret'>
  readonly sealer: Sealer
  readonly counters: Counters
  /** Name of the app in the authenticator. */
  readonly issuer: string
  readonly clock: Clock
}

/** The second factor of users: codes of an authenticator app (RFC 6238), and recovery codes. Each code is accepted once. */
export interface SecondFactor {
  status(userId: string): Promise<{ readonly enabled: boolean; readonly recoveryCodes: number }>
  /** A new secret, which takes effect once it is confirmed. Throws TOTP_ENABLED. */
  enrol(userId: string, label: string): Promise<{ readonly secret: string; readonly uri: string }>
  /** Requires codes from now on. Throws TOTP_ENABLED, TOTP_NOT_ENROLLED, TOTP_INVALID and RATE_LIMITED. */
  confirm(userId: string, code: string): Promise<readonly string[]>
  /** Passes users without a second factor. Throws TOTP_REQUIRED, TOTP_INVALID and RATE_LIMITED. */
  check(userId: string, code: string | undefined): Promise<void>
  /** New recovery codes instead of the old ones. Throws like `check`, and TOTP_NOT_ENROLLED. */
  renewCodes(userId: string, code: string): Promise<readonly string[]>
  /** Throws like `renewCodes`. */
  disable(userId: string, code: string): Promise<void>
  /** Removes the second factor without a code. False when there was none. */
  reset(userId: string): Promise<boolean>
}

const digits = /^\d{6}$/
const periodSeconds = 30
const recoveryCount = 10
/** Attempts per user within the window, so that codes cannot be guessed by whoever knows the password. */
const attempts = 10
const windowMs = 900_000

export function createSecondFactor({ store, otpauth, sealer, counters, issuer, clock }: TotpParts): SecondFactor {
  const totpOf = (secret: InstanceType<typeof Otpauth.Secret>, label: string) =>
    new otpauth.TOTP({ issuer, label, algorithm: 'SHA1', digits: 6, period: periodSeconds, secret })
  const bindingOf = (userId: string) => ({ deviceId: 'totp', userId })

  /** Counts the attempt before it is made. */
  const limited = async <T>(userId: string, attempt: () => Promise<T>): Promise<T> => {
    const key = `login:totp:${sha256Hex(userId).slice(0, 32)}`
    if ((await counters.add(key, windowMs)) > attempts) throw loginErrors.RATE_LIMITED(await counters.remaining(key, windowMs))
    const result = await attempt()
    await counters.clear([key])
    return result
  }

  /** The step of a correct code; it may be one step early or late. */
  const stepOf = (record: TotpRecord, code: string): number | undefined => {
    const opened = sealer.unseal(record.secret, bindingOf(record.userId))
    if (opened === undefined) throw loginErrors.TOTP_UNREADABLE()
    const now = clock.now()
    const delta = totpOf(otpauth.Secret.fromBase32(opened.secret), '').validate({ token: code, timestamp: now, window: 1 })
    return delta === null ? undefined : Math.floor(now / 1000 / periodSeconds) + delta
  }

  const isRight = async (record: TotpRecord, code: string): Promise<boolean> => {
    if (!digits.test(code)) return store.useCode(record.userId, hashOf(code))
    const step = stepOf(record, code)
    if (step === undefined || !(await store.advance(record.userId, step))) return false
    const opened = sealer.unseal(record.secret, bindingOf(record.userId))
    if (opened?.stale) await store.reseal(record.userId, record.secret, sealer.seal(opened.secret, bindingOf(record.userId)))
    return true
  }

  const confirmed = async (userId: string): Promise<TotpRecord | undefined> => {
    const record = await store.find(userId)
    return record?.confirmedAt === undefined ? undefined : record
  }

  const demand = async (userId: string, code: string): Promise<void> => {
    const record = await confirmed(userId)
    if (record === undefined) throw loginErrors.TOTP_NOT_ENROLLED()
    await limited(userId, async () => {
      if (!(await isRight(record, code))) throw loginErrors.TOTP_INVALID()
    })
  }

  const newCodes = async (userId: string): Promise<readonly string[]> => {
    const codes = Array.from({ length: recoveryCount }, newRecoveryCode)
    await store.setCodes(userId, codes.map(hashOf))
    return codes
  }

  return {
    async status(userId) {
      const enabled = (await confirmed(userId)) !== undefined
      return { enabled, recoveryCodes: enabled ? await store.countCodes(userId) : 0 }
    },
    async enrol(userId, label) {
      const secret = new otpauth.Secret({ size: 20 })
      if (!(await store.begin(userId, sealer.seal(secret.base32, bindingOf(userId))))) throw loginErrors.TOTP_ENABLED()
      return { secret: secret.base32, uri: totpOf(secret, label).toString() }
    },
    async confirm(userId, code) {
      const record = await store.find(userId)
      if (record === undefined) throw loginErrors.TOTP_NOT_ENROLLED()
      if (record.confirmedAt !== undefined) throw loginErrors.TOTP_ENABLED()
      await limited(userId, async () => {
        const step = digits.test(code) ? stepOf(record, code) : undefined
        if (step === undefined || !(await store.confirm(userId, record.secret, step, clock.now()))) throw loginErrors.TOTP_INVALID()
      })
      return newCodes(userId)
    },
    async check(userId, code) {
      const record = await confirmed(userId)
      if (record === undefined) return
      if (code === undefined) throw loginErrors.TOTP_REQUIRED()
      await demand(userId, code)
    },
    async renewCodes(userId, code) {
      await demand(userId, code)
      return newCodes(userId)
    },
    async disable(userId, code) {
      await demand(userId, code)
      await store.remove(userId)
    },
    reset: (userId) => store.remove(userId),
  }
}

/** 16 characters, 80 bits. */
function newRecoveryCode(): string {
  const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
  const text = [...randomBytes(16)].map((byte) => alphabet[byte % 32]).join('')
  return text.replace(/(.{4})(?=.)/g, '$1-')
}

/** A recovery code has 80 bits, so a plain hash is enough. */
const hashOf = (code: string): string => sha256Hex(code.toLowerCase().replace(/[\s-]/g, ''))
