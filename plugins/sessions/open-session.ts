import type { Context } from 'koa'
import type { Session, SessionControl, SessionUser } from './contract.js'
import { isForeignForm, isUnsafe, mayHaveField } from './csrf.js'
import { sessionsErrors } from './errors.js'
import { newId, type SessionKeys } from './keys.js'
import { type Changes, changesBetween, type Lifetimes, remainingMs, type SessionRecord, type Texts, textsOf } from './record.js'
import type { Stored } from './store.js'

/** A session that the cookie of a request names. */
export interface Found {
  readonly id: string
  /** Whether an earlier secret signed the cookie. */
  readonly stale: boolean
  readonly stored: Stored
  readonly record: SessionRecord
}

export interface OpenParts {
  readonly keys: SessionKeys
  readonly times: Lifetimes
  readonly now: () => number
}

/** The session of one request: what it was, and what the request makes of it. */
export class OpenSession {
  readonly found: Found | undefined
  #session: Session | undefined
  readonly #ctx: Context
  readonly #parts: OpenParts
  readonly #failure: Error | undefined
  /** Its id, once it has one. */
  id: string | undefined
  user: SessionUser | undefined
  loginId: string | undefined
  createdAt: number
  /** Whether something used it. */
  used = false
  /** Whether it is stored, although it has no data. */
  started = false
  isRotated = false
  isDestroyed = false
  /** Whether nothing of what it held, or gets from other requests meanwhile, is kept. */
  isCleared = false
  /** Whether the login that signs it in has not been ended meanwhile. */
  stands: () => Promise<boolean> = async () => true
  /** The field `_csrf` of the body, once that has been read. */
  #field: unknown
  #csrf: 'unknown' | 'awaited' | 'checked' | 'refused' = 'unknown'

  /** @param failure why it could not be loaded: thrown when something uses it, so that other requests go on. */
  constructor(ctx: Context, parts: OpenParts, found: Found | undefined, failure: Error | undefined) {
    this.#ctx = ctx
    this.#parts = parts
    this.#failure = failure
    this.found = found
    this.id = found?.id
    this.user = found?.record.user
    this.loginId = found?.record.loginId
    this.createdAt = found?.record.createdAt ?? parts.now()
  }

  /** Made when it is first used: most requests use none. */
  get session(): Session {
    this.#session ??= newSession(this, this.found?.record.data)
    return this.#session
  }

  /** The session for a handler or guard. Throws CSRF_TOKEN_INVALID and AUTH_STORE_UNAVAILABLE. */
  use(): Session {
    if (this.#failure !== undefined) throw this.#failure
    this.used = true
    this.#checkToken(mayHaveField(this.#ctx))
    return this.session
  }

  /** The check when the body has been read. */
  checkLate(field: unknown): void {
    this.#field = field
    if (this.#csrf === 'awaited') this.#checkToken(false)
  }

  /** Whether its token is missing so far: nothing may be stored. */
  get lacksToken(): boolean {
    return this.#csrf === 'awaited' || this.#csrf === 'refused'
  }

  #checkToken(mayWait: boolean): void {
    if (this.#csrf === 'checked') return
    const header = this.#ctx.req.headers['x-csrf-token']
    // Without a session of its own, whoever sent the request has nothing to abuse, except that a new one takes the place of the browser's.
    const needsToken = this.found === undefined ? isForeignForm(this.#ctx) : isUnsafe(this.#ctx)
    if (!needsToken) this.#csrf = 'checked'
    else if (this.found !== undefined && this.#parts.keys.isCsrfToken(this.found.id, header ?? this.#field)) this.#csrf = 'checked'
    else if (this.found !== undefined && mayWait && header === undefined) this.#csrf = 'awaited'
    else {
      this.#csrf = 'refused'
      throw sessionsErrors.CSRF_TOKEN_INVALID()
    }
  }

  /** Whom it is signed in as, for a guard. It counts as used only if it is. Throws like {@link use}. */
  signedInUser(): SessionUser | undefined {
    return this.#failure === undefined && this.user === undefined ? undefined : this.use().user
  }

  get expiresAt(): number {
    return this.#parts.now() + remainingMs(this, this.#parts.times, this.#parts.now())
  }

  csrfToken(): string {
    this.started = true
    this.id ??= newId()
    return this.#parts.keys.csrfToken(this.id)
  }

  /** Also for the routes of other plugins, which have their own checks of whoever logs in. */
  signIn(user: SessionUser, stands = async (): Promise<boolean> => true): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#csrf !== 'checked' && isForeignForm(this.#ctx)) throw sessionsErrors.CSRF_TOKEN_INVALID()
    // Of another user, and not for this one.
    if (this.user !== undefined && String(this.user.sub) !== String(user.sub)) this.#clear()
    this.regenerate()
    const { iss: _iss, aud: _aud, jti: _jti, iat: _iat, exp: _exp, ...own } = user
    this.user = own
    this.stands = stands
    this.loginId = newId()
    this.createdAt = this.#parts.now()
  }

  regenerate(): void {
    this.used = true
    this.isRotated = true
    this.isDestroyed = false
    this.started = true
    this.id = newId()
  }

  destroy(): void {
    this.used = true
    this.isDestroyed = true
    this.isRotated = false
    this.started = false
    this.id = undefined
    this.user = undefined
    this.loginId = undefined
    this.createdAt = this.#parts.now()
    this.#clear()
  }

  #clear(): void {
    this.isCleared = true
    for (const name of Object.keys(this.session)) delete (this.session as unknown as Record<string, unknown>)[name]
  }

  /** Its data as they are now. Throws SESSION_DATA_INVALID. */
  texts(): Texts {
    return textsOf(this.session)
  }

  changes(texts: Texts): Changes {
    return changesBetween(this.found?.record.data ?? new Map(), texts)
  }
}

const reserved: ReadonlySet<string> = new Set(['__proto__', 'user', 'csrfToken', 'expiresAt', 'signIn', 'regenerate', 'destroy'])

/** Control by a prototype, so that the own properties are the data. */
function newSession(open: OpenSession, data: Texts | undefined): Session {
  const control: SessionControl = {
    get user() {
      return open.user
    },
    get csrfToken() {
      return open.csrfToken()
    },
    get expiresAt() {
      return open.expiresAt
    },
    signIn: (user) => open.signIn(user),
    regenerate: () => open.regenerate(),
    destroy: () => open.destroy(),
  }
  // Frozen: assigning to `session.user` and the like throws.
  const session = Object.create(Object.freeze(control)) as Record<string, unknown>
  for (const [name, text] of data ?? []) if (!reserved.has(name)) session[name] = JSON.parse(text)
  return session as unknown as Session
}
