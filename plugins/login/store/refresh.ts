import type { Kv } from 'zin/plugins/kv'

/** The refresh tokens of one login on one device. Only the newest is valid, and of it only the hash is kept. */
export interface RefreshFamily {
  readonly deviceId: string
  readonly userId: string
  /** Changes with each login on the device. */
  readonly family: string
  /** SHA-256 of the secret of the newest token, hex. */
  readonly hash: string
  /** Claims of the tokens that it gives. */
  readonly claims: Readonly<Record<string, unknown>>
  /** Ids and expiry (seconds since 1970) of the access tokens that may still be valid. */
  readonly issued: readonly (readonly [jti: string, exp: number])[]
  /** When the newest token expires, ms since 1970. */
  readonly expiresAt: number
  /** When the last token of the family expires, ms since 1970. */
  readonly endsAt: number
}

/** Stores the newest family of each device. Ids are compared exactly. */
export interface RefreshStore {
  /** Replaces an earlier family of the device. */
  put(family: RefreshFamily): Promise<void>
  find(deviceId: string): Promise<RefreshFamily | undefined>
  /** False when the newest token is no longer that of `before`. Atomic. */
  rotate(before: RefreshFamily, after: RefreshFamily): Promise<boolean>
  /** Ends the family, unless the device has a newer one, and returns it as it was at the end: no rotation comes between. */
  end(family: Pick<RefreshFamily, 'deviceId' | 'family'>): Promise<RefreshFamily | undefined>
  /** Ends the families of a user. @param deviceIds the active devices of the user. */
  endUser(userId: string, deviceIds: readonly string[]): Promise<void>
  /** Deletes families that expired before `now`. */
  sweep(now: number): Promise<void>
}

type Values = Pick<Kv, 'get' | 'set' | 'delete'>

/** Families in a key-value store, which deletes them when they expire. */
export function kvFamilies(query: <T>(run: (values: Values) => Promise<T>) => Promise<T>, now: () => number): RefreshStore {
  const keyOf = (deviceId: string): string => `login:refresh:${deviceId}`
  const life = ({ expiresAt }: RefreshFamily) => ({ ttlMs: Math.max(1, expiresAt - now()) })
  const find = async (deviceId: string): Promise<RefreshFamily | undefined> => {
    const text = await query((values) => values.get(keyOf(deviceId)))
    return text === null || text === '' ? undefined : (JSON.parse(text) as RefreshFamily)
  }
  const remove = (family: RefreshFamily): Promise<unknown> => query((values) => values.delete(keyOf(family.deviceId)))
  /** False when it was rotated since it was read. */
  const take = (family: RefreshFamily): Promise<boolean> =>
    query((values) => values.set(keyOf(family.deviceId), '', { ttlMs: 1, ifValue: JSON.stringify(family) }))
  return {
    find,
    put: async (family) => void (await query((values) => values.set(keyOf(family.deviceId), JSON.stringify(family), life(family)))),
    rotate: (before, after) =>
      query((values) => values.set(keyOf(after.deviceId), JSON.stringify(after), { ...life(after), ifValue: JSON.stringify(before) })),
    end: ({ deviceId, family }) => endFamily(() => find(deviceId), family, take, remove),
    async endUser(userId, deviceIds) {
      for (const deviceId of deviceIds) {
        const known = await find(deviceId)
        if (known?.userId === userId) await remove(known)
      }
    },
    sweep: async () => undefined,
  }
}

const maxAttempts = 20

/** Ends the family as it is found. If others keep rotating it, the last attempt removes it whatever it is. */
export async function endFamily(
  find: () => Promise<RefreshFamily | undefined>,
  id: string,
  take: (family: RefreshFamily) => Promise<boolean>,
  remove: (family: RefreshFamily) => Promise<unknown>,
): Promise<RefreshFamily | undefined> {
  let family = await find()
  for (let attempt = 0; family?.family === id && attempt < maxAttempts; attempt++) {
    if (await take(family)) return family
    family = await find()
  }
  if (family?.family !== id) return undefined
  await remove(family)
  return family
}

const maxKeys = 50_000

/** Values of one process, lost on restart. Beyond 50,000 the oldest is dropped: its user logs in again. */
export function memoryValues(): Values {
  const entries = new Map<string, string>()
  return {
    get: async (key) => entries.get(key) ?? null,
    async set(key, value, { ifValue } = {}) {
      if (ifValue !== undefined && entries.get(key) !== ifValue) return false
      entries.delete(key)
      if (value !== '') entries.set(key, value)
      if (entries.size > maxKeys) entries.delete(entries.keys().next().value as string)
      return true
    },
    delete: async (key) => entries.delete(key),
  }
}
