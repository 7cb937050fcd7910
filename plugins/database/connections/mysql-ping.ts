import type { Connection as MysqlSocket } from 'mysql2'
import type { Clock } from 'zin'
import { databaseErrors } from '../errors.js'
import { discard, type OpenSocket } from './mysql-socket.js'

export interface Pinger {
  /** Integer ms, the connect included when there was none. Rejects on abort and after 5 s. */
  ping(signal?: AbortSignal): Promise<number>
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

  const roundTrip = (target: MysqlSocket, signal: AbortSignal | undefined): Promise<void> =>
    bounded(
      new Promise<void>((resolve, reject) => {
        target.ping((error) => (error ? reject(error) : resolve()))
      }),
      where,
      signal,
    ).catch((error: unknown) => {
      drop(target)
      throw error
    })

  return {
    async ping(signal) {
      signal?.throwIfAborted()
      const started = clock.monotonic()
      // An idle connection may have died unnoticed; only a new one proves that the server is unreachable.
      const alive =
        kept !== undefined &&
        (await roundTrip(kept, signal).then(
          () => true,
          () => false,
        ))
      if (!alive) {
        signal?.throwIfAborted()
        await roundTrip(await bounded(fresh(), where, signal), signal)
      }
      return Math.round(clock.monotonic() - started)
    },
    close() {
      void opening?.then(drop, () => undefined)
      if (kept) drop(kept)
    },
  }
}

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
