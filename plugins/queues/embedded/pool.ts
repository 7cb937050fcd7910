import { EventEmitter } from 'node:events'
import type { QueryResult } from './answer.js'
import { PgliteClient } from './client.js'
import type { PgliteSession } from './session.js'

/** Looks like a `pg.Pool` to BullMQ's PostgreSQL backend, over the one session of a PGlite. */
export class PglitePool extends EventEmitter {
  /** BullMQ reads: many connections, and none that can drop unseen, so a worker may sleep until it is notified. */
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
