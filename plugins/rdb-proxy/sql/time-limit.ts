import { discard, type OpenSocket, query } from 'zin/plugins/database'
import { WireError } from 'zin/plugins/sql-wire'
import { wasInterrupted } from './db-errors.js'
import type { Session } from './session.js'

/** How long a killed statement may take to report it, in ms. */
const graceMs = 100
/** Time limit for the connection that kills a statement, in ms. */
const killMs = 2000

export interface LimitOptions {
  readonly timeoutMs: number
  /** Whether it is a read: it can be repeated, and is ended when the client disconnects. */
  readonly reads: boolean
  /** Watches for a disconnect of the client. */
  readonly client?: ClientWatch | undefined
}

/** Calls `onGone` when the client disconnects before its response, immediately if it already has. Returns a function that stops watching. */
export type ClientWatch = (onGone: () => void) => () => void

/**
 * Waits for a statement until its time limit. Then kills it over another connection and closes its own connection, whose state is unknown.
 * A write that finished after all counts as done.
 */
export function withTimeLimit<T>(session: Session, kill: KillQuery, options: LimitOptions, work: () => Promise<T>): Promise<T> {
  const { timeoutMs, reads, client } = options
  return new Promise((resolve, reject) => {
    const running = work()
    let unwatch: (() => void) | undefined
    let waiting = true
    const stopWaiting = (): boolean => {
      if (!waiting) return false
      waiting = false
      clearTimeout(timer)
      unwatch?.()
      return true
    }
    const stop = (text: string): void => {
      if (stopWaiting()) end(session, kill, running).then((outcome) => settle(outcome, text), reject)
    }
    const settle = (outcome: Outcome<T>, text: string): void => {
      const details = { outcome: outcome.cancelled ? 'cancelled' : 'unknown' } as const
      if (outcome.done && !reads) resolve(outcome.value)
      else reject(new WireError('QUERY_TIMEOUT', text, { details, retryable: reads }))
    }
    const timer = setTimeout(() => stop(`The statement took longer than ${timeoutMs} ms`), timeoutMs)
    running.then(
      (value) => {
        if (stopWaiting()) resolve(value)
      },
      (error: unknown) => {
        if (stopWaiting()) reject(error as Error)
      },
    )
    if (reads && client !== undefined) unwatch = client(() => stop('The client has disconnected'))
  })
}

type Outcome<T> =
  | { readonly done: true; readonly cancelled: boolean; readonly value: T }
  | { readonly done: false; readonly cancelled: boolean }

async function end<T>(session: Session, kill: KillQuery, running: Promise<T>): Promise<Outcome<T>> {
  const settled = running.then(
    (value): Outcome<T> => ({ done: true, cancelled: true, value }),
    (error: unknown): Outcome<T> => ({ done: false, cancelled: wasInterrupted(error) }),
  )
  const killed = await kill(session.threadId)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Outcome<T>>((resolve) => {
    timer = setTimeout(() => resolve({ done: false, cancelled: false }), killed ? graceMs : 0)
  })
  const outcome = await Promise.race([settled, late])
  clearTimeout(timer)
  session.discard()
  return outcome
}

/** Kills the running statement of a connection. Resolves to false if the server did not confirm. */
export type KillQuery = (threadId: number) => Promise<boolean>

/** Returns a {@link KillQuery} that uses a separate connection. */
export function killQuery(open: OpenSocket): KillQuery {
  return async (threadId) => {
    try {
      const socket = await open(killMs)
      const timer = setTimeout(() => discard(socket), killMs)
      try {
        await query(socket, 'KILL QUERY ?', [threadId])
        return true
      } finally {
        clearTimeout(timer)
        discard(socket)
      }
    } catch {
      return false
    }
  }
}
