import type { Context, Next } from 'koa'
import { type Clock, type Logger, messageOf, withinAuthBudget } from 'zin'
import type { Session, SessionUser } from './contract.js'
import type { SessionCookie } from './cookie.js'
import { sessionsErrors } from './errors.js'
import { newId, type SessionKeys } from './keys.js'
import { type Found, type OpenParts, OpenSession } from './open-session.js'
import { type Changes, decode, encode, isExpired, type Lifetimes, merge, remainingMs, type SessionRecord, type Texts } from './record.js'
import type { SessionStore, Stored } from './store.js'

export interface ManagerParts {
  readonly keys: SessionKeys
  readonly cookie: SessionCookie
  readonly store: SessionStore
  readonly times: Lifetimes
  readonly maxBytes: number
  /** Called after a signed-in session has ended, or got another id. */
  readonly accessEnded: (sub: string) => Promise<unknown>
  readonly clock: Clock
  readonly log: Logger
}

const slot = Symbol('zin.session')

interface WithSession {
  [slot]?: OpenSession
}

/** The property `session` of contexts: one descriptor, so that all of them have the same shape. */
const property: PropertyDescriptor = {
  configurable: true,
  get(this: WithSession): Session | undefined {
    return this[slot]?.use()
  },
}

/** How often a session is read again that others keep changing. */
const maxAttempts = 20

/** Opens the session of a request before its handler, and stores it afterwards. */
export class SessionManager {
  readonly #parts: ManagerParts

  constructor(parts: ManagerParts) {
    this.#parts = parts
  }

  /** The session of a request; undefined if it has none. */
  openOf(ctx: Context): OpenSession | undefined {
    return (ctx as WithSession)[slot]
  }

  /** The middleware: requests inside of it have `ctx.session`. */
  readonly around = async (ctx: Context, next: Next): Promise<void> => {
    if (this.openOf(ctx) !== undefined) return next()
    const opening = this.#open(ctx)
    const open = opening instanceof OpenSession ? opening : await opening
    ;(ctx as WithSession)[slot] = open
    Object.defineProperty(ctx, 'session', property)
    try {
      await next()
    } catch (error) {
      if (!open.lacksToken)
        await this.#close(ctx, open).catch((fault: unknown) =>
          this.#parts.log.warn({ why: messageOf(fault) }, 'the session of a failed request was not stored'),
        )
      throw error
    }
    await this.#close(ctx, open)
  }

  /** Whether the session of an event stream still exists: a login or logout gives it another id. */
  async isAlive({ found }: OpenSession): Promise<boolean> {
    return found !== undefined && this.#recordIn(await this.#parts.store.find(found.stored.key)) !== undefined
  }

  /** What is stored of the sessions of a user, without their ids. */
  async recordsOf(sub: string) {
    const records = (await this.#parts.store.ofUser(sub)).flatMap((stored) => this.#recordIn(stored) ?? [])
    return records.map(({ createdAt, data, touchedAt, user }, index) => ({
      kind: 'session',
      id: String(index),
      data: {
        createdAt: new Date(createdAt).toISOString(),
        lastUsedAt: new Date(touchedAt).toISOString(),
        user,
        data: Object.fromEntries([...data].map(([name, text]) => [name, JSON.parse(text) as unknown])),
      },
    }))
  }

  #open(ctx: Context): OpenSession | Promise<OpenSession> {
    const { keys, cookie, times, clock } = this.#parts
    const parts = { keys, times, now: () => clock.now() }
    const value = cookie.read(ctx.req.headers.cookie)
    const named = value === undefined ? undefined : keys.read(value)
    return named === undefined ? new OpenSession(ctx, parts, undefined, undefined) : this.#load(ctx, parts, named)
  }

  async #load(ctx: Context, parts: OpenParts, named: Pick<Found, 'id' | 'stale'>): Promise<OpenSession> {
    const { store } = this.#parts
    try {
      const stored = await withinAuthBudget(ctx, () => store.find(store.keyOf(named.id)))
      const record = this.#recordIn(stored)
      const found: Found | undefined = stored && record && { ...named, stored, record }
      return new OpenSession(ctx, parts, found, undefined)
    } catch (error) {
      return new OpenSession(ctx, parts, undefined, error as Error)
    }
  }

  #recordIn(stored: Stored | undefined): SessionRecord | undefined {
    const record = stored && decode(stored.text)
    return record && !isExpired(record, this.#parts.times, this.#parts.clock.now()) ? record : undefined
  }

  async #close(ctx: Context, open: OpenSession): Promise<void> {
    if (!open.used) return
    ctx.vary('Cookie')
    if (open.lacksToken) throw sessionsErrors.CSRF_TOKEN_INVALID()
    await withinAuthBudget(ctx, () => this.#store(ctx, open))
  }

  async #store(ctx: Context, open: OpenSession): Promise<void> {
    const texts = open.texts()
    const changes = open.changes(texts)
    if (open.isDestroyed) {
      if (open.found !== undefined) await this.#end({ key: open.found.stored.key, user: open.found.record.user })
      // What was set afterwards begins another session.
      if (texts.size > 0 || open.started) await this.#add(ctx, open, texts)
      else if (open.found !== undefined) this.#send(ctx, this.#parts.cookie.clear())
      return
    }
    if (open.found === undefined) {
      if (texts.size > 0 || open.started) await this.#add(ctx, open, texts)
    } else if (open.isRotated) {
      const kept = await this.#take(open.found, changes)
      await this.#add(ctx, open, open.isCleared ? texts : kept)
    } else await this.#save(ctx, open, open.found, changes)
  }

  /** Stores a session under a new id. */
  async #add(ctx: Context, open: OpenSession, data: Texts): Promise<void> {
    const { store, clock, times } = this.#parts
    open.id ??= newId()
    const { id, user, loginId, createdAt } = open
    const key = store.keyOf(id)
    const surplus = user === undefined ? [] : await store.list(user, key)
    for (const one of surplus) await store.end(one)
    if (user !== undefined && surplus.length > 0) await this.#parts.accessEnded(String(user.sub))
    const now = clock.now()
    const text = this.#encoded({ data, user, loginId, createdAt, touchedAt: now })
    await store.add(key, text, remainingMs(open, times, now))
    if (user !== undefined && !(await store.isListed(user.sub, key))) {
      await store.end(key)
      throw sessionsErrors.SESSION_CONFLICT('the sessions of the user were ended')
    }
    // Once it is listed, the end of its login ends it, too; one that came before found nothing to end.
    if (user !== undefined && !(await open.stands())) {
      await this.#end({ key, user })
      throw sessionsErrors.SESSION_CONFLICT('the login was ended')
    }
    this.#sendId(ctx, open, id)
  }

  /** Ends a session under its old id, and returns its data with the changes. */
  async #take(found: Found, changes: Changes): Promise<Texts> {
    const { store } = this.#parts
    for (let stored: Stored | undefined = found.stored, attempt = 0; attempt < maxAttempts; attempt++) {
      const data = this.#merged(found, changes, stored)
      this.#encoded({ ...found.record, data })
      if (await store.take(stored as Stored)) {
        const { user } = found.record
        if (user !== undefined) await this.#ended(user, found.stored.key)
        return data
      }
      stored = await store.find(found.stored.key)
    }
    throw sessionsErrors.SESSION_CONFLICT('others changed it in every attempt')
  }

  async #end({ key, user }: { readonly key: string; readonly user: SessionUser | undefined }): Promise<void> {
    await this.#parts.store.end(key)
    if (user !== undefined) await this.#ended(user, key)
  }

  async #ended({ sub }: SessionUser, key: string): Promise<void> {
    await this.#parts.store.unlist(sub, key)
    await this.#parts.accessEnded(String(sub))
  }

  /** Stores changes, and extends the session when a tenth of its idle time has passed; otherwise it writes nothing. */
  async #save(ctx: Context, open: OpenSession, found: Found, changes: Changes): Promise<void> {
    const { store, clock, times } = this.#parts
    const now = clock.now()
    const isDue = now - found.record.touchedAt >= times.idleMs / 10
    if (changes.size > 0 || isDue) {
      const ttlMs = remainingMs(open, times, now)
      for (let stored: Stored | undefined = found.stored, attempt = 0; ; attempt++) {
        if (attempt === maxAttempts) throw sessionsErrors.SESSION_CONFLICT('others changed it in every attempt')
        // Whoever ended it, or extended it first, wins over a request that changed nothing.
        if (changes.size === 0 && (stored === undefined || attempt > 0)) return
        const data = this.#merged(found, changes, stored)
        if (await store.replace(stored as Stored, this.#encoded({ ...found.record, data, touchedAt: now }), ttlMs)) break
        stored = await store.find(found.stored.key)
      }
    }
    if (isDue || found.stale) this.#sendId(ctx, open, found.id)
  }

  /** The data that are stored now, with the changes. Throws SESSION_CONFLICT. */
  #merged({ record }: Found, changes: Changes, stored: Stored | undefined): Texts {
    const latest = this.#recordIn(stored)
    if (latest === undefined) throw sessionsErrors.SESSION_CONFLICT('it was ended or got another id')
    const merged = merge(record.data, changes, latest.data)
    if (merged instanceof Map) return merged
    throw sessionsErrors.SESSION_CONFLICT(`both changed ${[...(merged as readonly string[])].join(', ')}`)
  }

  #encoded(record: SessionRecord): string {
    const text = encode(record)
    const bytes = Buffer.byteLength(text)
    if (bytes > this.#parts.maxBytes) throw sessionsErrors.SESSION_TOO_LARGE(bytes, this.#parts.maxBytes)
    return text
  }

  #sendId(ctx: Context, open: OpenSession, id: string): void {
    const { cookie, keys, times, clock } = this.#parts
    if (!ctx.headerSent) ctx.set('x-csrf-token', keys.csrfToken(id))
    this.#send(ctx, cookie.write(keys.sign(id), remainingMs(open, times, clock.now())))
  }

  /** No cache may keep it for someone else. */
  #send(ctx: Context, setCookie: string): void {
    if (ctx.headerSent) {
      this.#parts.log.warn({}, 'a session changed after the headers of the response were sent, so that its cookie could not be')
      return
    }
    ctx.append('Set-Cookie', setCookie)
    ctx.set('Cache-Control', 'no-store')
  }
}
