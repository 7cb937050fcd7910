import type { Clock, Logger } from 'zin'
import type { Database } from 'zin/plugins/database'
import type {
  AttemptCounts,
  AttemptDelta,
  Beat,
  Cluster,
  ClusterMessage,
  KnownNode,
  MinuteCounts,
  NodeInfo,
  NodeStatus,
  OperationRecord,
  ReportedStatus,
  SentMessage,
} from '../cluster.js'
import { byWorker } from '../group.js'
import { dayMs } from '../keep.js'
import { SqlCounts } from './counts.js'
import { SqlLeases } from './leases.js'
import { SqlMessages } from './messages.js'
import { SqlRoles } from './roles.js'
import { SqlStore } from './sql-store.js'
import { SqlStatuses } from './statuses.js'
import { writeRows } from './write-rows.js'

export interface SqlClusterOptions {
  readonly database: Database
  /** Name of the connection that has the tables of `clusterMigration`. */
  readonly connection: string
  /** Begins the name of every table. */
  readonly prefix: string
  readonly clock: Clock
  readonly log: Logger
}

/** The processes of an app over a SQL database: leases by its clock, and messages as rows that are polled. */
export function sqlCluster(options: SqlClusterOptions): Cluster {
  return new SqlCluster(options)
}

class SqlCluster implements Cluster {
  readonly kind = 'sql'
  readonly #store: SqlStore
  readonly #messages: SqlMessages
  readonly #leases: SqlLeases
  readonly #statuses: SqlStatuses
  readonly #counts: SqlCounts
  readonly #roles: SqlRoles

  constructor({ database, connection, prefix, clock, log }: SqlClusterOptions) {
    this.#store = new SqlStore(database, connection, prefix)
    this.#messages = new SqlMessages(this.#store, clock, log)
    this.#leases = new SqlLeases(this.#store, this.#messages)
    this.#statuses = new SqlStatuses(this.#store, this.#messages)
    this.#counts = new SqlCounts(this.#store)
    this.#roles = new SqlRoles(this.#store, this.#messages)
  }

  async open(): Promise<void> {
    this.#messages.open()
  }

  close(): Promise<void> {
    return this.#messages.close()
  }

  beat(node: NodeInfo, leaseMs: number): Promise<Beat> {
    return this.#leases.beat(node, leaseMs)
  }

  leave(node: string): Promise<void> {
    return this.#leases.leave(node)
  }

  async nodes(): Promise<readonly KnownNode[]> {
    return (await this.#leases.read()).nodes
  }

  report(node: string, statuses: readonly NodeStatus[]): Promise<void> {
    return this.#statuses.report(node, statuses)
  }

  forget(node: string, worker: string, workerId: string): Promise<void> {
    return this.#statuses.forget(node, worker, workerId)
  }

  async statuses(workers: readonly string[]): Promise<ReadonlyMap<string, readonly ReportedStatus[]>> {
    return byWorker(await this.#statuses.read(workers))
  }

  running(): Promise<ReadonlySet<string>> {
    return this.#statuses.running()
  }

  announce(worker: string): Promise<void> {
    return this.#leases.announce(worker)
  }

  send(message: SentMessage): Promise<void> {
    return this.#messages.send([message])
  }

  listen(listener: (message: ClusterMessage) => void): () => void {
    return this.#messages.listen(listener)
  }

  async saveOperation(operation: OperationRecord): Promise<void> {
    const { id, worker } = operation
    await this.#store.run(({ db, names, mysql, now }) => {
      const rows = [{ id, worker, body: JSON.stringify(operation), saved_at: now }]
      return writeRows(db, { mysql, table: names.operations, key: ['id'], rows, existing: 'replace' })
    })
  }

  async operation(id: string): Promise<OperationRecord | undefined> {
    const row = await this.#store.run(({ db, names, nowPlus }) =>
      db.selectFrom(names.operations).select('body').where('id', '=', id).where('saved_at', '>', nowPlus(-dayMs)).executeTakeFirst(),
    )
    return row === undefined ? undefined : (JSON.parse(row.body) as OperationRecord)
  }

  count(deltas: readonly AttemptDelta[]): Promise<void> {
    return this.#counts.add(deltas)
  }

  totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    return this.#counts.totals(workers)
  }

  minutes(worker: string, since: number): Promise<readonly MinuteCounts[]> {
    return this.#counts.minutes(worker, since)
  }

  async erase(worker: string): Promise<void> {
    await this.#store.run(async ({ db, names }) => {
      for (const table of [names.totals, names.minutes, names.statuses, names.operations] as const) {
        await db.deleteFrom(table).where('worker', '=', worker).execute()
      }
    })
  }

  lead(role: string, node: string, leaseMs: number): Promise<number | undefined> {
    return this.#roles.lead(role, node, leaseMs)
  }

  async leads(role: string, epoch: number): Promise<boolean> {
    return (await this.#roles.epochOf(role)) === epoch
  }

  resign(role: string, node: string): Promise<void> {
    return this.#roles.resign(role, node)
  }

  async sweep(): Promise<void> {
    await this.#leases.sweep()
    await this.#counts.sweep()
    await this.#messages.sweep()
    await this.#store.run(({ db, names, nowPlus }) => db.deleteFrom(names.operations).where('saved_at', '<', nowPlus(-dayMs)).execute())
  }

  isUnavailable(error: unknown): boolean {
    return this.#store.isUnavailable(error)
  }
}
