import type { DatabaseConnection, Driver } from 'kysely'
import { isConflict } from '../failures.js'
import { forwardingDriver } from './driver.js'

/** Tries in all. Every conflict lets at least one of those that wait for each other through. */
const attempts = 10

/** Does the work again when the server gave it up in favour of another one; the last error is thrown. */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error
    }
    // Those that met once would meet again: each waits for another time.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * attempt * 5))
  }
}

/**
 * A Kysely driver that does a statement again when the server gave it up in favour of another one. Inside a transaction the
 * server has undone what came before as well: there the error is the caller's, who has the whole transaction to repeat.
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
