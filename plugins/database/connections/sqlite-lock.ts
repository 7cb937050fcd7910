import { systemClock, type ZinError } from 'zin'
import { databaseErrors } from '../errors.js'

export interface LockWait {
  readonly limitMs: number
  /** The error when it stays locked. */
  readonly late: () => ZinError
  readonly signal?: AbortSignal | undefined
  /** Called once, when there is something to wait for. */
  readonly onWait?: () => void
}

/**
 * Retries the work while another process has the SQLite file locked. SQLite's own busy timeout would block the whole process, so
 * it is set to 0 and replaced by this one.
 */
export async function whileLocked<T>({ limitMs, late, signal, onWait }: LockWait, work: () => T | Promise<T>): Promise<T> {
  // Real time, not the app's clock: this waits for another process.
  const deadline = systemClock.monotonic() + limitMs
  for (let wait = 2; ; wait = Math.min(wait * 2, 50)) {
    try {
      return await work()
    } catch (error) {
      if (!isLocked(error)) throw error
      if (systemClock.monotonic() > deadline) throw Object.assign(late(), { cause: error })
    }
    if (wait === 2) onWait?.()
    await new Promise((resolve) => setTimeout(resolve, wait))
    signal?.throwIfAborted()
  }
}

/** The error of a file that is still locked at the deadline. */
export function locked(path: string, waitedMs: number): ZinError {
  return databaseErrors.DATABASE_UNAVAILABLE(`The database file ${path} has been locked by another process for ${waitedMs} ms`)
}

function isLocked(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  return ('code' in error && String(error.code).startsWith('SQLITE_BUSY')) || ('cause' in error && isLocked(error.cause))
}
