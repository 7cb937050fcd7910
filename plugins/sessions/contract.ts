import type { Context } from 'koa'
import { defineService } from 'zin'

/**
 * The properties of `ctx.session`. An app adds its own; all of them may be missing:
 *
 * @example
 * declare module 'zin/plugins/sessions' {
 *   interface SessionData {
 *     cart: readonly string[]
 *   }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: apps add to it
export interface SessionData {}

/** Whom a session is signed in as. */
export interface SessionUser {
  readonly sub: string | number
  readonly email?: string
  readonly role?: string
  readonly [claim: string]: unknown
}

/** What a session can do, besides holding data. */
export interface SessionControl {
  /** Whom it is signed in as. */
  readonly user: SessionUser | undefined
  /** The token for forms and scripts: a new text on each read, all of them valid until the id changes. Reading it starts a session. */
  readonly csrfToken: string
  /** When it ends without further use, in ms since 1970. */
  readonly expiresAt: number
  /** Gives it a new id, and signs it in: an id that was known before is worthless. Its data are kept, except those of another user. */
  signIn(user: SessionUser): void
  /** Gives it a new id and keeps its data: for a change of rights. */
  regenerate(): void
  /** Ends it: its data are deleted, and the client forgets the cookie. */
  destroy(): void
}

/** `ctx.session`: data as properties, and {@link SessionControl}. What is set is stored when the handler has ended. */
export type Session = Partial<SessionData> & SessionControl

/** Sessions as a service. */
export interface Sessions {
  /** The session of a request, as `ctx.session`. Throws SESSION_MISSING for one without sessions. */
  of(ctx: Context): Session
  /** Ends all sessions that are signed in as a user. Returns their number. */
  endAll(sub: string | number): Promise<number>
}

export const sessionsService = defineService<Sessions>('sessions')

declare module 'koa' {
  interface DefaultContext {
    /** Set by the plugin sessions. */
    readonly session: Session
  }
}

declare module 'zin' {
  interface MiddlewareState {
    /** It sets `ctx.session`, and nothing in the state. */
    sessions: object
  }
}
