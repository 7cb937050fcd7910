import type { Devices } from 'zin/plugins/bulletproof'
import type { Tokens } from 'zin/plugins/jwt'
import type { AccountStores } from './account-stores.js'
import { canonicalEmail } from './email.js'
import type { User } from './store/users.js'

export interface AccountDataParts {
  readonly stores: () => Promise<AccountStores>
  readonly tokens: () => Tokens
  readonly devices: () => Devices
  /** ms since 1970. */
  readonly now: () => number
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
  /**
   * Disables the account, ends its sessions and removes all but its row, by which the other names of the subject are found. Returns the
   * number of removed records; sessions and tokens do not count.
   */
  erase(subject: string): Promise<number>
  /** Removes the row. Returns the number of removed records. */
  forget(subject: string): Promise<number>
}

const iso = (ms: number): string => new Date(ms).toISOString()

export function accountData({ devices, now, stores, tokens }: AccountDataParts): AccountData {
  /** The user may be gone, with records that a request left behind which ended late. */
  const found = async (subject: string): Promise<AccountStores & { readonly user: User | undefined; id: string; email: string }> => {
    const all = await stores()
    const user = (await all.users?.findById(subject)) ?? (await all.users?.find(canonicalEmail(subject)))
    return { ...all, user, id: user?.id ?? subject, email: user?.email ?? canonicalEmail(subject) }
  }
  return {
    async names(subject) {
      const { user } = await found(subject)
      return user === undefined ? [] : [user.id, user.email]
    },
    async records(subject) {
      const { email, id, mailed, refresh, totp, user } = await found(subject)
      const records: AccountRecord[] = []
      if (user !== undefined) {
        const { createdAt, disabledAt, role } = user
        const disabled = disabledAt === undefined ? null : iso(disabledAt)
        records.push({ kind: 'account', id, data: { email, role, createdAt: iso(createdAt), disabledAt: disabled } })
      }
      const used = await devices().list(id)
      for (const { createdAt, deviceId, label, lastSeenAt } of used) {
        const times = { createdAt: iso(createdAt), lastSeenAt: iso(lastSeenAt) }
        records.push({ kind: 'device', id: deviceId, data: { label: label ?? null, ...times } })
      }
      for (const { claims, deviceId, expiresAt } of (await refresh?.ofUser(id)) ?? [])
        records.push({ kind: 'refresh token', id: deviceId, data: { claims, expiresAt: iso(expiresAt) } })
      if ((await totp?.find(id))?.confirmedAt !== undefined)
        records.push({ kind: 'second factor', id, data: { recoveryCodes: await totp?.countCodes(id) } })
      return [...records, ...((await mailed?.ofUser(id, email)) ?? [])]
    },
    async erase(subject) {
      const { email, id, mailed, refresh, totp, user, users } = await found(subject)
      // No login passes from here on.
      if (user !== undefined && user.disabledAt === undefined) await users?.change(user.email, { disabledAt: now() })
      // Before the revocation, which also removes some.
      let removed = (await mailed?.removeUser(id, email)) ?? 0
      const used = await devices().list(id)
      const families = (await refresh?.ofUser(id)) ?? []
      if (user !== undefined || used.length > 0 || families.length > 0) await tokens().revokeUser(id)
      await refresh?.endUser(
        id,
        used.map(({ deviceId }) => deviceId),
      )
      if (used.length > 0) removed += await devices().removeAll(id)
      if (await totp?.remove(id)) removed += 1
      return removed
    },
    async forget(subject) {
      const { user, users } = await found(subject)
      return user !== undefined && (await users?.remove(user.email)) ? 1 : 0
    },
  }
}
