import type { NodeStatus, ReportedStatus } from '../cluster.js'
import type { SqlMessages } from './messages.js'
import type { SqlStore } from './sql-store.js'
import { writeRows } from './write-rows.js'

/** What processes say of workers. */
export class SqlStatuses {
  readonly #store: SqlStore
  readonly #messages: SqlMessages

  constructor(store: SqlStore, messages: SqlMessages) {
    this.#store = store
    this.#messages = messages
  }

  async report(node: string, statuses: readonly NodeStatus[]): Promise<void> {
    if (statuses.length === 0) return
    await this.#store.run(({ db, names, mysql, now }) => {
      const rows = statuses
        .map((status) => ({ worker: status.worker, node, state: status.state, status: JSON.stringify(status), reported_at: now }))
        // Writers of several rows take them in the same order, so that they do not wait for each other.
        .sort((a, b) => (a.worker < b.worker ? -1 : 1))
      return writeRows(db, { mysql, table: names.statuses, key: ['worker', 'node'], rows, existing: 'replace' })
    })
    await this.#messages.send(statuses.map((status) => ({ kind: 'status', node, status })))
  }

  async forget(node: string, worker: string, workerId: string): Promise<void> {
    await this.#store.run(({ db, field, names }) =>
      db
        .deleteFrom(names.statuses)
        .where('worker', '=', worker)
        .where('node', '=', node)
        .where(field('status', 'workerId'), '=', workerId)
        .execute(),
    )
  }

  async read(workers: readonly string[]): Promise<readonly ReportedStatus[]> {
    if (workers.length === 0) return []
    const rows = await this.#store.run(({ db, names, now }) =>
      db
        .selectFrom(`${names.statuses} as s`)
        .innerJoin(`${names.nodes} as n`, 'n.id', 's.node')
        .select((eb) => ['s.node as node', 's.status as status', eb('n.lease_until', '>', now).as('alive')])
        .where('s.worker', 'in', workers)
        .execute(),
    )
    return rows.map(({ node, status, alive }) => ({ ...(JSON.parse(status) as NodeStatus), node, alive: Number(alive) === 1 }))
  }

  async running(): Promise<ReadonlySet<string>> {
    const rows = await this.#store.run(({ db, names, now }) =>
      db
        .selectFrom(`${names.statuses} as s`)
        .innerJoin(`${names.nodes} as n`, 'n.id', 's.node')
        .select('s.worker as worker')
        .distinct()
        .where('s.state', '=', 'running')
        .where('n.lease_until', '>', now)
        .execute(),
    )
    return new Set(rows.map(({ worker }) => worker))
  }
}
