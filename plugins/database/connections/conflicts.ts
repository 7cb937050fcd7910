import type { DatabaseConnection, Driver } from 'kysely'
import { isConflict } from '../failures.js'
import { forwardingDriver } from './driver.js'

/** Maximum number of attempts. Every deadlock lets at least one of its transactions succeed. */
const attempts = 10

/** Retries the work when it was the victim of a deadlock; throws the last error. */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error
    }
    // A random delay, so that the same transactions do not collide again.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * attempt * 5))
  }
}

/**
 * A Kysely driver that retries a statement that was the victim of a deadlock. Inside a transaction the server has rolled back the earlier
 * statements as well: the error goes to the caller, which must retry the whole transaction.
 */
export function retryingDriver(inner: Driver): Driver {
  const known = new WeakSet<DatabaseConnection>()
  const inTransaction = new WeakSet<DatabaseConnection>()
  return {
    ...forwardingDriver(inner),
    async acquireConnection() {
      const connection = await inner.acquireConnection()
      if (known.has(connection)) return connection
      known.add(connection)
      const execute: DatabaseConnection['executeQuery'] = connection.executeQuery.bind(connection)
      connection.executeQuery = (query) => (inTransaction.has(connection) ? execute(query) : retryConflicts(() => execute(query)))
      return connection
    },
    async beginTransaction(connection, settings) {
      inTransaction.add(connection)
      await inner.beginTransaction(connection, settings)
    },
    async releaseConnection(connection) {
      inTransaction.delete(connection)
      await inner.releaseConnection(connection)
    },
  }
}
