import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import { forwardingDriver } from './driver.js'

/** Limits the requests in progress of one connection; others wait in order. */
export interface Slots {
  take(): Promise<void>
  /** Passes the slot on to the first that waits. */
  give(): void
}

export function createSlots(limit: number): Slots {
  const waiting: (() => void)[] = []
  let free = limit
  return {
    async take() {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
    },
    give() {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    },
  }
}

export interface ProxyDriverOptions {
  /** Returns a query with checked parameters, or throws. */
  readonly checked: (query: CompiledQuery) => CompiledQuery
  /** One is taken for each connection in use. */
  readonly slots: Slots
  /** Called with the outcome of each request and its SQL. For a failed request, its return value is thrown. */
  readonly outcome: (error: unknown, sql?: string) => unknown
  /** Maps the error of a transaction that the proxy did not begin. */
  readonly notBegun: (error: unknown) => unknown
}

/** Limits concurrent requests like a pool, and maps the errors of the proxy. */
export function proxyDriver(inner: Driver, { checked, slots, outcome, notBegun }: ProxyDriverOptions): Driver {
  const reported = async <T>(work: Promise<T>, sql?: string): Promise<T> => {
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
      await slots.take()
      const connection = await inner.acquireConnection()
      const execute: DatabaseConnection['executeQuery'] = connection.executeQuery.bind(connection)
      const stream: DatabaseConnection['streamQuery'] = connection.streamQuery.bind(connection)
      connection.executeQuery = async (query) => reported(execute(checked(query)), query.sql)
      connection.streamQuery = async function* <Row>(query: CompiledQuery, chunkSize?: number): AsyncIterableIterator<QueryResult<Row>> {
        const rows = stream<Row>(checked(query), chunkSize)
        try {
          for (let next = await reported(rows.next()); !next.done; next = await reported(rows.next())) yield next.value
        } finally {
          await rows.return?.()
        }
      }
      return connection
    },
    async beginTransaction(connection, settings) {
      try {
        await reported(inner.beginTransaction(connection, settings))
      } catch (error) {
        throw notBegun(error)
      }
    },
    commitTransaction: (connection) => reported(inner.commitTransaction(connection)),
    rollbackTransaction: (connection) => reported(inner.rollbackTransaction(connection)),
    async releaseConnection(connection) {
      // Rolls back a transaction that is still open; if the request fails, the proxy does so after its timeout.
      await inner.releaseConnection(connection).catch((error: unknown) => outcome(error))
      slots.give()
    },
  }
}
