import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import { forwardingDriver } from './driver.js'

export interface ProxyDriverOptions {
  /** Most connections in use at once. */
  readonly limit: number
  /** Called with the outcome of each request and its SQL; its result is thrown when it failed. */
  readonly outcome: (error: unknown, sql?: string) => unknown
  /** What is thrown when the proxy does not begin a transaction. */
  readonly notBegun: (error: unknown) => unknown
}

/** Bounds the requests that run at once, as a pool does, and translates errors of the proxy. */
export function proxyDriver(inner: Driver, { limit, outcome, notBegun }: ProxyDriverOptions): Driver {
  const waiting: (() => void)[] = []
  let free = limit

  const told = async <T>(work: Promise<T>, sql?: string): Promise<T> => {
    try {
      const result = await work
      outcome(undefined)
      return result
    } catch (error) {
      throw outcome(error, sql)
    }
  }

  return {
    ...forwardingDriver(inner),
    async acquireConnection() {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      const connection = await inner.acquireConnection()
      const execute: DatabaseConnection['executeQuery'] = connection.executeQuery.bind(connection)
      const stream: DatabaseConnection['streamQuery'] = connection.streamQuery.bind(connection)
      connection.executeQuery = (query) => told(execute(query), query.sql)
      connection.streamQuery = async function* <Row>(query: CompiledQuery, chunkSize?: number): AsyncIterableIterator<QueryResult<Row>> {
        const rows = stream<Row>(query, chunkSize)
        try {
          for (let next = await told(rows.next()); !next.done; next = await told(rows.next())) yield next.value
        } finally {
          await rows.return?.()
        }
      }
      return connection
    },
    async beginTransaction(connection, settings) {
      try {
        await told(inner.beginTransaction(connection, settings))
      } catch (error) {
        throw notBegun(error)
      }
    },
    commitTransaction: (connection) => told(inner.commitTransaction(connection)),
    rollbackTransaction: (connection) => told(inner.rollbackTransaction(connection)),
    async releaseConnection(connection) {
      // A transaction that is still open is rolled back; the proxy does so by itself when it is not told.
      await inner.releaseConnection(connection).catch((error: unknown) => outcome(error))
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    },
  }
}
