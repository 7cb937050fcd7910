import type { Connection as MysqlSocket, RowDataPacket } from 'mysql2'
import type { Clock } from 'zin'
import { databaseErrors } from '../errors.js'
import { discard, type OpenSocket } from './mysql-socket.js'

export interface Pinger {
  /** Integer ms, the connect included when there was none. Rejects on abort and after 5 s. */
  ping(signal?: AbortSignal): Promise<number>
  /** Whether the server accepts no writes; false if it does not know the variable. Limits as for `ping`. */
  isReadOnly(signal?: AbortSignal): Promise<boolean>
  close(): void
}

const limitMs = 5000

/** Pings on a separate connection, so that a busy pool does not look like a broken server. */
export function createPinger(open: OpenSocket, clock: Clock, where: string): Pinger {
  let kept: MysqlSocket | undefined
  let opening: Promise<MysqlSocket> | undefined

  const drop = (stale: MysqlSocket): void => {
    discard(stale)
    if (kept === stale) kept = undefined
  }

  const fresh = (): Promise<MysqlSocket> => {
    opening ??= open(limitMs)
      .then((made) => (kept = made))
      .finally(() => {
        opening = undefined
      })
    return opening
  }

  const roundTrip = <T>(target: MysqlSocket, send: (target: MysqlSocket) => Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
    bounded(send(target), where, signal).catch((error: unknown) => {
      drop(target)
      throw error
    })

  const ask = async <T>(send: (target: MysqlSocket) => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    signal?.throwIfAborted()
    // An idle connection may have died unnoticed; only a new one proves that the server is unreachable.
    const answer = kept && (await roundTrip(kept, async (target) => [await send(target)] as const, signal).catch(() => undefined))
    if (answer !== undefined) return answer[0]
    signal?.throwIfAborted()
    return roundTrip(await bounded(fresh(), where, signal), send, signal)
  }

  return {
    async ping(signal) {
      const started = clock.monotonic()
      await ask(pinged, signal)
      return Math.round(clock.monotonic() - started)
    },
    isReadOnly: (signal) => ask(readOnly, signal),
    close() {
      void opening?.then(drop, () => undefined)
      if (kept) drop(kept)
    },
  }
}

const pinged = (target: MysqlSocket): Promise<void> =>
  new Promise((resolve, reject) => {
    target.ping((error) => (error ? reject(error) : resolve()))
  })

const readOnly = (target: MysqlSocket): Promise<boolean> =>
  new Promise((resolve, reject) => {
    target.query({ sql: 'select @@global.read_only', rowsAsArray: true }, (error, rows: RowDataPacket[][]) => {
      if (error?.fatal) reject(error)
      else resolve(error === null && Number(rows[0]?.[0]) === 1)
    })
  })

/** Removes the timer and the listener once either side has settled, even if the work itself never ends. */
async function bounded<T>(work: Promise<T>, where: string, signal: AbortSignal | undefined): Promise<T> {
  let end: () => void = () => undefined
  const limit = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(signal?.reason)
    const timer = setTimeout(
      () => reject(databaseErrors.DATABASE_UNAVAILABLE(`Database ${where} did not respond to a ping within ${limitMs} ms`)),
      limitMs,
    )
    signal?.addEventListener('abort', onAbort, { once: true })
    end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    end()
  }
}
