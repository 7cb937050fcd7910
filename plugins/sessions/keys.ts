import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { joinErrors } from 'zin'
import { parseSecrets } from 'zin/signing'
import { sessionsErrors } from './errors.js'

/** The values of the settings. */
export interface Secrets {
  readonly SESSION_SECRET: string
  readonly SESSION_SECRET_BK: string
  readonly APP_KEY: string
  readonly APP_KEY_BK: string
}

interface KeyPair {
  readonly cookie: KeyObject
  readonly csrf: KeyObject
}

const minBytes = 32
const idBytes = 32
const idPattern = '[A-Za-z0-9_-]{43}'
const cookieForm = new RegExp(`^(${idPattern})\\.(${idPattern})$`)
const tokenForm = /^[A-Za-z0-9_-]{86}$/

/** An id that nobody can guess. */
export const newId = (): string => randomBytes(idBytes).toString('base64url')

/** Signs ids of sessions, and makes the CSRF token of one: with the current secret, and for checks also with earlier ones. */
export class SessionKeys {
  readonly #pairs: readonly [KeyPair, ...KeyPair[]]
  /** Whether the secret was generated for this process. */
  readonly ephemeral: boolean

  /** Throws SESSION_SECRET_MISSING and SESSION_SECRET_TOO_SHORT in production. */
  constructor(secrets: Secrets, production: boolean) {
    const own = secrets.SESSION_SECRET !== ''
    const current = own ? secrets.SESSION_SECRET : secrets.APP_KEY
    this.ephemeral = current === ''
    if (this.ephemeral && production) throw sessionsErrors.SESSION_SECRET_MISSING()
    const all = [
      [own ? 'SESSION_SECRET' : 'APP_KEY', this.ephemeral ? randomBytes(minBytes).toString('base64url') : current],
      ...parseSecrets(secrets.SESSION_SECRET_BK, 'SESSION_SECRET_BK').map((secret) => ['SESSION_SECRET_BK', secret] as const),
      // Also with a secret of its own: it may have been added just now.
      ...(own && secrets.APP_KEY !== '' ? [['APP_KEY', secrets.APP_KEY] as const] : []),
      ...parseSecrets(secrets.APP_KEY_BK, 'APP_KEY_BK').map((secret) => ['APP_KEY_BK', secret] as const),
    ] as const
    const short = all.filter(([, secret]) => production && Buffer.byteLength(secret) < minBytes)
    if (short.length > 0)
      throw joinErrors(short.map(([name, secret]) => sessionsErrors.SESSION_SECRET_TOO_SHORT(name, Buffer.byteLength(secret))))
    this.#pairs = all.map(([, secret]) => pairOf(secret)) as unknown as readonly [KeyPair, ...KeyPair[]]
  }

  /** The value of the cookie for an id. */
  sign(id: string): string {
    return `${id}.${mac(this.#pairs[0].cookie, id).toString('base64url')}`
  }

  /** The id in the value of a cookie, and whether an earlier secret signed it; undefined unless it is exactly what was signed. */
  read(value: string): { readonly id: string; readonly stale: boolean } | undefined {
    const [, id, signature] = cookieForm.exec(value) ?? []
    if (id === undefined || signature === undefined) return undefined
    const given = Buffer.from(signature, 'base64url')
    const at = this.#pairs.findIndex(({ cookie }) => timingSafeEqual(mac(cookie, id), given))
    return at < 0 ? undefined : { id, stale: at > 0 }
  }

  /** A CSRF token for an id: masked, so that a compressed page does not reveal it bit by bit. */
  csrfToken(id: string): string {
    const mask = randomBytes(idBytes)
    return Buffer.concat([mask, xor(mac(this.#pairs[0].csrf, id), mask)]).toString('base64url')
  }

  isCsrfToken(id: string, token: unknown): boolean {
    if (typeof token !== 'string' || !tokenForm.test(token)) return false
    const bytes = Buffer.from(token, 'base64url')
    const given = xor(bytes.subarray(idBytes), bytes.subarray(0, idBytes))
    return this.#pairs.some(({ csrf }) => timingSafeEqual(mac(csrf, id), given))
  }
}

const derived = (secret: string, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `zin/sessions/${purpose}/v1`, 32)))

const pairOf = (secret: string): KeyPair => ({ cookie: derived(secret, 'cookie'), csrf: derived(secret, 'csrf') })

const mac = (key: KeyObject, id: string): Buffer => createHmac('sha256', key).update(id).digest()

const xor = (a: Buffer, b: Buffer): Buffer => Buffer.from(a.map((byte, i) => byte ^ (b[i] ?? 0)))
