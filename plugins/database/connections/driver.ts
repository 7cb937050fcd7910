import type { DatabaseConnection, Driver, TransactionSettings } from 'kysely'
import { databaseErrors } from '../errors.js'

export interface BoundedDriverOptions {
  readonly name: string
  readonly acquireTimeoutMs: number
  /** How a transaction begins, where the dialect's own way will not do. */
  readonly begin?: (connection: DatabaseConnection, settings: TransactionSettings) => Promise<void>
  /** Told about the outcome of every acquire that reached the store. */
  readonly onAcquire?: (error: unknown) => void
}

/** A driver that passes everything on, to be changed in part. */
export function forwardingDriver(inner: Driver): Driver {
  const { savepoint, rollbackToSavepoint, releaseSavepoint } = inner
  return {
    init: () => inner.init(),
    acquireConnection: () => inner.acquireConnection(),
    beginTransaction: (connection, settings) => inner.beginTransaction(connection, settings),
    commitTransaction: (connection) => inner.commitTransaction(connection),
    rollbackTransaction: (connection) => inner.rollbackTransaction(connection),
    ...(savepoint && { savepoint: savepoint.bind(inner) }),
    ...(rollbackToSavepoint && { rollbackToSavepoint: rollbackToSavepoint.bind(inner) }),
    ...(releaseSavepoint && { releaseSavepoint: releaseSavepoint.bind(inner) }),
    releaseConnection: (connection) => inner.releaseConnection(connection),
    destroy: () => inner.destroy(),
  }
}

/**
 * A Kysely driver that waits for a connection only so long. Neither dialect bounds this by itself, and code that uses
 * `tables()` inside a transaction on SQLite's only connection would wait for ever.
 */
export function boundedDriver(inner: Driver, options: BoundedDriverOptions): Driver {
  return {
    ...forwardingDriver(inner),
    acquireConnection: () => acquire(inner, options),
    ...(options.begin && { beginTransaction: options.begin }),
  }
}

function acquire(inner: Driver, { name, acquireTimeoutMs, onAcquire }: BoundedDriverOptions): Promise<DatabaseConnection> {
  return new Promise((resolve, reject) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      reject(databaseErrors.DATABASE_BUSY(name, acquireTimeoutMs))
    }, acquireTimeoutMs)
    inner.acquireConnection().then(
      (connection) => {
        clearTimeout(timer)
        onAcquire?.(undefined)
        if (late) void inner.releaseConnection(connection)
        else resolve(connection)
      },
      (error: unknown) => {
        clearTimeout(timer)
        onAcquire?.(error)
        reject(error)
      },
    )
  })
}
