import type { LogEvent } from 'kysely'

/** A query that has ended. It carries no values of parameters. */
export interface ObservedQuery {
  /** Name of the connection, such as `default`. */
  readonly connection: string
  readonly dialect: 'sqlite' | 'mysql'
  /** With placeholders; text that code wrote into it as a literal is in it. */
  readonly sql: string
  readonly ms: number
  /** Why it failed. */
  readonly error?: unknown
}

export type QueryObserver = (query: ObservedQuery) => void

/** Who hears of queries. Connections that open while there is nobody measure nothing. */
export class QueryObservers {
  #observers: readonly QueryObserver[] = []

  get active(): boolean {
    return this.#observers.length > 0
  }

  add(observer: QueryObserver): () => void {
    this.#observers = [...this.#observers, observer]
    return () => {
      this.#observers = this.#observers.filter((one) => one !== observer)
    }
  }

  tell(query: ObservedQuery): void {
    for (const observer of this.#observers) observer(query)
  }

  /** Options of a Kysely handle that tells of its queries. */
  logOf(connection: string, dialect: ObservedQuery['dialect']): { readonly log?: (event: LogEvent) => void } {
    if (!this.active) return {}
    return {
      log: ({ query, queryDurationMillis: ms, ...event }) =>
        this.tell({ connection, dialect, sql: query.sql, ms, ...('error' in event ? { error: event.error } : {}) }),
    }
  }
}
