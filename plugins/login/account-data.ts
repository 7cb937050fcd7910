import type { Devices } from 'zin/plugins/bulletproof'
import type { Tokens } from 'zin/plugins/jwt'
import type { Accounts } from './accounts.js'
import { canonicalEmail } from './email.js'
import type { RefreshTokens } from './refresh.js'
import type { OneTimeTokens } from './store/one-time-tokens.js'
import type { User } from './store/users.js'
import type { SecondFactor } from './totp/second-factor.js'

export interface AccountDataParts {
  /** The built-in users; undefined if the app has users of its own. */
  readonly accounts: Accounts | undefined
  readonly refresh: RefreshTokens | undefined
  readonly factor: SecondFactor | undefined
  readonly mailed: Pick<OneTimeTokens, 'ofUser' | 'removeUser'> | undefined
  readonly tokens: () => Tokens
  readonly devices: () => Devices
}

/** A record of an account, without secrets and hashes. */
export interface AccountRecord {
  readonly kind: string
  readonly id: string
  readonly data: Readonly<Record<string, unknown>>
}

/** All that is stored of an account, found by the id of the user or, for a built-in user, by the email address. */
export interface AccountData {
  /** The id and the email address of a built-in user; empty for any other subject. */
  names(subject: string): Promise<readonly string[]>
  records(subject: string): Promise<readonly AccountRecord[]>
  /** Ends the sessions of the account and removes it. Returns the number of removed records; sessions and tokens do not count. */
  erase(subject: string): Promise<number>
}

const iso = (ms: number): string => new Date(ms).toISOString()

export function accountData({ accounts, devices, factor, mailed, refresh, tokens }: AccountDataParts): AccountData {
  /** The user may be gone, with records that a request left behind which ended late. */
  const found = async (subject: string): Promise<{ readonly user: User | undefined; readonly id: string; readonly email: string }> => {
    const user = (await accounts?.byId(subject)) ?? (await accounts?.find(subject))
    return { user, id: user?.id ?? subject, email: user?.email ?? canonicalEmail(subject) }
  }
  return {
    async names(subject) {
      const { user } = await found(subject)
      return user === undefined ? [] : [user.id, user.email]
    },
    async records(subject) {
      const { email, id, user } = await found(subject)
      const records: AccountRecord[] = []
      if (user !== undefined) {
        const { createdAt, disabledAt, role } = user
        const disabled = disabledAt === undefined ? null : iso(disabledAt)
        records.push({ kind: 'account', id, data: { email, role, createdAt: iso(createdAt), disabledAt: disabled } })
      }
      for (const { createdAt, deviceId, label, lastSeenAt } of await devices().list(id)) {
        const times = { createdAt: iso(createdAt), lastSeenAt: iso(lastSeenAt) }
        records.push({ kind: 'device', id: deviceId, data: { label: label ?? null, ...times } })
        const family = await refresh?.ofDevice(deviceId)
        if (family?.userId === id)
          records.push({ kind: 'refresh token', id: deviceId, data: { claims: family.claims, expiresAt: iso(family.expiresAt) } })
      }
      const status = await factor?.status(id)
      if (status?.enabled === true) records.push({ kind: 'second factor', id, data: { recoveryCodes: status.recoveryCodes } })
      return [...records, ...((await mailed?.ofUser(id, email)) ?? [])]
    },
    async erase(subject) {
      const { email, id, user } = await found(subject)
      // No login passes from here on; the row goes last, so that a repeated erasure finds the account if a step fails.
      if (user !== undefined) await accounts?.disable(user.email)
      // Before the revocation, which also removes some.
      let removed = (await mailed?.removeUser(id, email)) ?? 0
      const { length } = await devices().list(id)
      if (user !== undefined || length > 0) await tokens().revokeUser(id)
      if (length > 0) removed += await devices().removeAll(id)
      if (await factor?.reset(id)) removed += 1
      if (user !== undefined && (await accounts?.remove(user.email))) removed += 1
      return removed
    },
  }
}
