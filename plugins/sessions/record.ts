import { messageOf } from 'zin'
import type { SessionUser } from './contract.js'
import { sessionsErrors } from './errors.js'

/** Data by property, each as JSON. */
export type Texts = ReadonlyMap<string, string>

/** A stored session. */
export interface SessionRecord {
  readonly data: Texts
  readonly user?: SessionUser | undefined
  /** Identifies the login. */
  readonly loginId?: string | undefined
  /** When it was created, or signed in; ms since 1970. */
  readonly createdAt: number
  /** When it was last extended. */
  readonly touchedAt: number
}

export interface Lifetimes {
  readonly idleMs: number
  readonly lifetimeMs: number
}

/** How long a session lasts from now on if it is used now, in ms. */
export const remainingMs = ({ createdAt }: Pick<SessionRecord, 'createdAt'>, { idleMs, lifetimeMs }: Lifetimes, now: number): number =>
  Math.min(idleMs, createdAt + lifetimeMs - now)

export const isExpired = ({ createdAt, touchedAt }: SessionRecord, { idleMs, lifetimeMs }: Lifetimes, now: number): boolean =>
  now >= touchedAt + idleMs || now >= createdAt + lifetimeMs

export function encode({ data, user, loginId, createdAt, touchedAt }: SessionRecord): string {
  const fields = [...data].map(([name, text]) => `${JSON.stringify(name)}:${text}`)
  const rest = JSON.stringify({ u: user, l: loginId, c: createdAt, t: touchedAt })
  return `{"d":{${fields.join(',')}},${rest.slice(1)}`
}

/** Undefined for text that is not a stored session. */
export function decode(text: string): SessionRecord | undefined {
  try {
    const { d, u, l, c, t } = JSON.parse(text) as { d: object; u?: SessionUser; l?: string; c: number; t: number }
    return Number.isFinite(c) && Number.isFinite(t) ? { data: textsOf(d), user: u, loginId: l, createdAt: c, touchedAt: t } : undefined
  } catch {
    return undefined
  }
}

/** The JSON of each property. Those that JSON leaves out, such as undefined and functions, count as missing. Throws SESSION_DATA_INVALID. */
export function textsOf(data: object): Texts {
  const texts = new Map<string, string>()
  for (const [name, value] of Object.entries(data)) {
    let text: string | undefined
    try {
      text = JSON.stringify(value)
    } catch (error) {
      throw sessionsErrors.SESSION_DATA_INVALID(name, messageOf(error))
    }
    if (text !== undefined) texts.set(name, text)
  }
  return texts
}

/** What a request changed: the new text of a property, or undefined if it was deleted. */
export type Changes = ReadonlyMap<string, string | undefined>

export function changesBetween(before: Texts, after: Texts): Changes {
  const names = new Set([...before.keys(), ...after.keys()])
  return new Map([...names].flatMap((name) => (before.get(name) === after.get(name) ? [] : [[name, after.get(name)] as const])))
}

/**
 * Applies changes to a session that another request has stored since. Returns the names of properties that both changed differently instead:
 * neither change may be lost without notice.
 */
export function merge(before: Texts, changes: Changes, stored: Texts): Texts | readonly string[] {
  const clashes = [...changes].flatMap(([name, text]) => (stored.get(name) === before.get(name) || stored.get(name) === text ? [] : [name]))
  if (clashes.length > 0) return clashes
  const merged = new Map(stored)
  for (const [name, text] of changes) {
    if (text === undefined) merged.delete(name)
    else merged.set(name, text)
  }
  return merged
}
