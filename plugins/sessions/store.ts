import { createHash } from 'node:crypto'
import { storeUnavailable } from 'zin'
import { type Kv, updateKey } from 'zin/plugins/kv'
import type { SessionUser } from './contract.js'
import type { Lifetimes } from './record.js'

/** A session as the store holds it. */
export interface Stored {
  readonly key: string
  readonly text: string
}

/** What the key of a session holds that was ended or got another id, for a short time: so that a late request does not write it again. */
const ended = '-'
const endedMs = 60_000

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** Sessions in the kv, by a hash of their id: whoever reads the store cannot use them. */
export class SessionStore {
  readonly #kv: () => Kv | undefined
  readonly #times: Lifetimes
  readonly #maxPerUser: number
  readonly #now: () => number

  constructor({ kv, times, maxPerUser, now }: { kv: () => Kv | undefined; times: Lifetimes; maxPerUser: number; now: () => number }) {
    this.#kv = kv
    this.#times = times
    this.#maxPerUser = maxPerUser
    this.#now = now
  }

  keyOf(id: string): string {
    return `session:${digest(id)}`
  }

  /** Undefined if there is none, or it has ended. Every method throws AUTH_STORE_UNAVAILABLE if the store fails. */
  async find(key: string): Promise<Stored | undefined> {
    const text = await this.#ask((kv) => kv.get(key))
    return text === null || text === ended ? undefined : { key, text }
  }

  add(key: string, text: string, ttlMs: number): Promise<boolean> {
    return this.#ask((kv) => kv.set(key, text, { ttlMs, ifAbsent: true }))
  }

  /** False if it was changed meanwhile. */
  replace({ key, text }: Stored, next: string, ttlMs: number): Promise<boolean> {
    return this.#ask((kv) => kv.set(key, next, { ttlMs, ifValue: text }))
  }

  /** Ends it exactly as it was read, so that no change of another request is lost. False if it was changed meanwhile. */
  take(stored: Stored): Promise<boolean> {
    return this.replace(stored, ended, endedMs)
  }

  async end(key: string): Promise<void> {
    await this.#ask((kv) => kv.set(key, ended, { ttlMs: endedMs }))
  }

  /** Lists a session as one of a user, before it is stored. Returns the keys of the oldest ones beyond the maximum. */
  async list({ sub, deviceId }: SessionUser, key: string): Promise<readonly string[]> {
    let surplus: readonly string[] = []
    await this.#change(sub, (entries) => {
      const all = [...entries, { key, end: this.#now() + this.#times.lifetimeMs, deviceId }]
      surplus = all.slice(0, Math.max(0, all.length - this.#maxPerUser)).map((entry) => entry.key)
      return all.slice(-this.#maxPerUser)
    })
    return surplus
  }

  /** The sessions of a user that have not ended. */
  async ofUser(sub: string | number): Promise<readonly Stored[]> {
    const entries = entriesIn(await this.#ask((kv) => kv.get(indexKey(sub))))
    const found = await Promise.all(entries.map(({ key }) => this.find(key)))
    return found.filter((stored): stored is Stored => stored !== undefined)
  }

  async isListed(sub: string | number, key: string): Promise<boolean> {
    const text = await this.#ask((kv) => kv.get(indexKey(sub)))
    return entriesIn(text).some((entry) => entry.key === key)
  }

  async unlist(sub: string | number, key: string): Promise<void> {
    await this.#change(sub, (entries) => entries.filter((entry) => entry.key !== key))
  }

  /** Ends all sessions of a user. One that is being signed in finds itself missing from the list, and ends, too. */
  endAll(sub: string | number): Promise<number> {
    return this.#endSome(sub, () => true)
  }

  /** Ends the sessions of a user that logins on a device signed in, like {@link endAll}. */
  endOfDevice(sub: string | number, deviceId: string): Promise<number> {
    return this.#endSome(sub, (entry) => entry.deviceId === deviceId)
  }

  async #endSome(sub: string | number, isOne: (entry: Entry) => boolean): Promise<number> {
    let keys: readonly string[] = []
    await this.#change(sub, (entries) => {
      keys = entries.filter(isOne).map((entry) => entry.key)
      return keys.length === 0 ? entries : entries.filter((entry) => !isOne(entry))
    })
    for (const key of keys) await this.end(key)
    return keys.length
  }

  async #change(sub: string | number, change: (entries: readonly Entry[]) => readonly Entry[]): Promise<void> {
    const now = this.#now()
    await this.#ask((kv) =>
      updateKey(kv, indexKey(sub), (text) => {
        const live = entriesIn(text).filter(({ end }) => end > now)
        const next = change(live)
        if (next === live || (text === null && next.length === 0)) return undefined
        return { value: JSON.stringify(next.map(({ key, end, deviceId }) => [key, end, deviceId])), ttlMs: this.#times.lifetimeMs }
      }),
    )
  }

  async #ask<T>(task: (kv: Kv) => Promise<T>): Promise<T> {
    try {
      const kv = this.#kv()
      if (kv === undefined) throw new Error('the plugin kv is disabled')
      return await task(kv)
    } catch (error) {
      throw storeUnavailable(error)
    }
  }
}

interface Entry {
  readonly key: string
  /** When the session ends at the latest, ms since 1970. */
  readonly end: number
  /** Of the login. */
  readonly deviceId?: unknown
}

const indexKey = (sub: string | number): string => `session:user:${digest(String(sub))}`

function entriesIn(text: string | null): readonly Entry[] {
  return text === null
    ? []
    : (JSON.parse(text) as readonly [string, number, unknown][]).map(([key, end, deviceId]) => ({ key, end, deviceId }))
}
