import { EventEmitter } from 'node:events'
import { PgliteClient } from './client.js'
import type { QueryResult } from './response.js'
import type { PgliteSession } from './session.js'

/** Implements the `pg.Pool` that BullMQ's PostgreSQL backend expects, on the single session of PGlite. */
export class PglitePool extends EventEmitter {
  /** Makes BullMQ assume many connections that cannot drop unnoticed, so that a worker may sleep until it is notified. */
  readonly options = { max: 1000, keepAlive: true }
  readonly #session: PgliteSession
  readonly #main: PgliteClient

  constructor(session: PgliteSession) {
    super()
    this.setMaxListeners(0)
    this.#session = session
    this.#main = new PgliteClient(session)
  }

  /** One statement, committed at once. */
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<{ rows: R[]; rowCount: number | null }> {
    return this.#main.query(text, values) as Promise<QueryResult & { rows: R[] }>
  }

  connect(): Promise<PgliteClient> {
    return Promise.resolve(new PgliteClient(this.#session))
  }

  /** The session is closed by its owner. */
  end(): Promise<void> {
    return Promise.resolve()
  }
}
