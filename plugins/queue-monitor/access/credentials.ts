import { createHash, timingSafeEqual } from 'node:crypto'
import type { Actor } from 'zin/plugins/ops'
import { type MonitorPermission, queueNamesOf } from './scope.js'

/** The user name and password of basic auth. */
export interface BasicAuth {
  readonly type: 'basic'
  readonly username: string
  readonly password: string
}

/** The permissions and queues granted to an API key. */
export interface KeyGrant {
  readonly permissions: readonly MonitorPermission[]
  readonly queues: readonly string[] | '*'
}

/** An authenticated caller: its id for audit logs, and its grant. */
export interface Credential {
  readonly kind: 'user' | 'key'
  readonly id: string
  readonly grant: KeyGrant
}

const everything: KeyGrant = { permissions: ['read', 'write', 'admin', 'payload:read'], queues: '*' }
const keyPrefix = 'monitor:'
/** The least length of an API key in production. */
const leastKeyLength = 16
const hashedKey = /^sha256:([0-9a-f]{64})$/

/** Verifies credentials by comparing SHA-256 digests in constant time. Keeps no plain-text secret after construction. */
export class Credentials {
  readonly #basic: { readonly user: Buffer; readonly password: Buffer; readonly id: string } | undefined
  readonly #keys: readonly { readonly digest: Buffer; readonly credential: Credential }[]

  constructor(basic: BasicAuth | undefined, keys: Readonly<Record<string, KeyGrant>>) {
    this.#basic =
      basic === undefined ? undefined : { user: digestOf(basic.username), password: digestOf(basic.password), id: basic.username }
    this.#keys = Object.entries(keys).map(([key, grant]) => {
      const hashed = hashedKey.exec(key)?.[1]
      const digest = hashed === undefined ? digestOf(key) : Buffer.from(hashed, 'hex')
      // The digest of a random key reveals nothing about it.
      return {
        digest,
        credential: {
          kind: 'key',
          id: `${keyPrefix}${digest.toString('hex').slice(0, 8)}`,
          grant: { ...grant, queues: queueNamesOf(grant.queues) },
        },
      }
    })
  }

  /** Returns the grant of the API key with this id; undefined if there is no such key. */
  grantOf(id: string): KeyGrant | undefined {
    return this.#keys.find(({ credential }) => credential.id === id)?.credential.grant
  }

  /** Returns the caller for the value of an `Authorization: Basic` header; undefined if it is wrong. */
  basic(encoded: string): Credential | undefined {
    const text = Buffer.from(encoded, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    const [user, password] = [text.slice(0, Math.max(0, colon)), text.slice(colon + 1)].map(digestOf) as [Buffer, Buffer]
    const known = this.#basic
    const none = Buffer.alloc(32)
    const userMatches = timingSafeEqual(user, known?.user ?? none)
    const passwordMatches = timingSafeEqual(password, known?.password ?? none)
    return known !== undefined && colon >= 0 && Number(userMatches) + Number(passwordMatches) === 2
      ? { kind: 'user', id: known.id, grant: everything }
      : undefined
  }

  /**
   * Returns the caller for an API key; undefined if it is unknown. Compares with every key, so the time does not depend on which one
   * matches.
   */
  key(given: string): Credential | undefined {
    const digest = digestOf(given)
    let found: Credential | undefined
    for (const { digest: known, credential } of this.#keys) if (timingSafeEqual(digest, known)) found = credential
    return found
  }
}

/** Whether an actor is an API key of the queue monitor, as opposed to a key of `ops`. */
export function isMonitorKey({ id, kind }: Actor): boolean {
  return kind === 'key' && id.startsWith(keyPrefix)
}

/** `admin` includes `write` and `payload:read`, and each permission includes `read`. */
export function includes(granted: readonly MonitorPermission[], permission: MonitorPermission): boolean {
  if (granted.includes(permission) || granted.includes('admin')) return true
  return permission === 'read' && granted.length > 0
}

/** The length of an API key that is too short for production; undefined if there is none. */
export function tooShort(keys: Iterable<string>): { readonly length: number; readonly least: number } | undefined {
  // Blanks at its ends are no part of a header.
  const lengths = [...keys].filter((key) => !hashedKey.test(key)).map((key) => key.trim().length)
  const short = lengths.find((length) => length < leastKeyLength)
  return short === undefined ? undefined : { length: short, least: leastKeyLength }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest()
}
