import { type Database, deleteBefore, upsertRows } from 'zin/plugins/database'
import type {
  AttemptCounts,
  AttemptDelta,
  CountsQuery,
  News,
  NodeStatus,
  OperationRecord,
  StateStore,
  StoredStatus,
  WorkerCounts,
} from '../contract.js'
import { dayMs } from '../keep.js'
import { SqlChanges } from './changes.js'
import { StateConnection } from './connection.js'
import { SqlCounts } from './counts.js'
import { SqlStatuses } from './statuses.js'

export interface SqlStateOptions {
  readonly database: Database
  /** Name of the connection with the tables of the migrations 0002, 0004 and 0005. */
  readonly connection: string
  /** Prefix of the name of every table. */
  readonly prefix: string
}

/** Opens a state store in a SQL database. */
export function sqlState(options: SqlStateOptions): StateStore {
  return new SqlState(options)
}

class SqlState implements StateStore {
  readonly kind = 'sql'
  readonly #connection: StateConnection
  readonly #statuses: SqlStatuses
  readonly #changes: SqlChanges
  readonly #counts: SqlCounts

  constructor({ database, connection, prefix }: SqlStateOptions) {
    this.#connection = new StateConnection(database, connection, prefix)
    this.#statuses = new SqlStatuses(this.#connection)
    this.#changes = new SqlChanges(this.#connection)
    this.#counts = new SqlCounts(this.#connection)
  }

  report(node: string, statuses: readonly NodeStatus[]): Promise<void> {
    return this.#statuses.report(node, statuses)
  }

  forget(node: string, worker: string, workerId: string): Promise<void> {
    return this.#statuses.forget(node, worker, workerId)
  }

  forgetNode(node: string): Promise<void> {
    return this.#statuses.forgetNode(node)
  }

  statuses(workers: readonly string[]): Promise<readonly StoredStatus[]> {
    return this.#statuses.read(workers)
  }

  running(nodes: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#statuses.running(nodes)
  }

  change(worker: string): Promise<number> {
    return this.#changes.add(worker)
  }

  news(node: string, since: number): Promise<News> {
    return this.#changes.since(node, since)
  }

  async saveOperation(operation: OperationRecord): Promise<void> {
    const { id, workerId } = operation
    await this.#connection.run(({ db, names, now }) => {
      const rows = [{ id, worker: workerId, body: JSON.stringify(operation), saved_at: now }]
      return upsertRows(db, { table: names.operations, key: ['id'], rows, existing: 'replace' })
    })
  }

  async operation(id: string): Promise<OperationRecord | undefined> {
    const row = await this.#connection.run(({ db, names, nowPlus }) =>
      db.selectFrom(names.operations).select('body').where('id', '=', id).where('saved_at', '>', nowPlus(-dayMs)).executeTakeFirst(),
    )
    return row === undefined ? undefined : (JSON.parse(row.body) as OperationRecord)
  }

  count(deltas: readonly AttemptDelta[]): Promise<number> {
    return this.#counts.add(deltas)
  }

  totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    return this.#counts.totals(workers)
  }

  counts(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]> {
    return this.#counts.read(workers, query)
  }

  async erase(worker: string, workerId: string): Promise<void> {
    await this.#connection.run(async ({ db, names }) => {
      for (const table of [names.totals, names.minutes, names.durations, names.operations] as const) {
        // Older releases used the name.
        await db.deleteFrom(table).where('worker', 'in', [worker, workerId]).execute()
      }
    })
    await this.#statuses.erase(worker, workerId)
  }

  async sweep(nodes: readonly string[]): Promise<void> {
    await this.#statuses.sweep(nodes)
    await this.#changes.sweep()
    await this.#counts.sweep()
    await this.#connection.run(({ db, names, nowPlus }) =>
      deleteBefore(db, { table: names.operations, key: ['id'], column: 'saved_at', before: nowPlus(-dayMs) }),
    )
  }

  isUnavailable(error: unknown): boolean {
    return this.#connection.isUnavailable(error)
  }
}
