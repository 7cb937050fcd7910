import type { LogEvent } from 'kysely'

/** A completed query, without the values of its parameters. */
export interface ObservedQuery {
  /** Name of the connection, such as `default`. */
  readonly connection: string
  readonly dialect: 'sqlite' | 'mysql'
  /** With placeholders; contains literals that the code wrote into the SQL. */
  readonly sql: string
  readonly ms: number
  /** The error of a failed query. */
  readonly error?: unknown
}

export type QueryObserver = (query: ObservedQuery) => void

/** The observers of queries. Connections opened without observers measure nothing. */
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

  notify(query: ObservedQuery): void {
    for (const observer of this.#observers) observer(query)
  }

  /** Options for a Kysely handle that reports its queries to the observers. */
  logOf(connection: string, dialect: ObservedQuery['dialect']): { readonly log?: (event: LogEvent) => void } {
    if (!this.active) return {}
    return {
      log: ({ query, queryDurationMillis: ms, ...event }) =>
        this.notify({ connection, dialect, sql: query.sql, ms, ...('error' in event ? { error: event.error } : {}) }),
    }
  }
}
