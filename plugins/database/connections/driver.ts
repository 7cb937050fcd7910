import type { DatabaseConnection, Driver } from 'kysely'
import type { ZinError } from 'zin'

export interface BoundedDriverOptions {
  readonly acquireTimeoutMs: number
  /** The error when no connection became free in time. */
  readonly late: () => ZinError
  /** Called with the outcome of every acquire that reached the database. */
  readonly onAcquire?: (error: unknown) => void
}

/** A driver that delegates every call; spread it and override some. */
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

/** A Kysely driver with a limit on the wait for a connection; the pool has none. */
export function boundedDriver(inner: Driver, options: BoundedDriverOptions): Driver {
  return {
    ...forwardingDriver(inner),
    acquireConnection: () => acquire(inner, options),
  }
}

function acquire(inner: Driver, { acquireTimeoutMs, late, onAcquire }: BoundedDriverOptions): Promise<DatabaseConnection> {
  return new Promise((resolve, reject) => {
    let over = false
    const timer = setTimeout(() => {
      over = true
      reject(late())
    }, acquireTimeoutMs)
    inner.acquireConnection().then(
      (connection) => {
        clearTimeout(timer)
        onAcquire?.(undefined)
        if (over) void inner.releaseConnection(connection)
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
