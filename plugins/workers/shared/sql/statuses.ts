import { inList, upsertRows } from 'zin/plugins/database'
import type { NodeStatus, StoredStatus } from '../contract.js'
import type { StateConnection } from './connection.js'

/** Statuses that nodes report. */
export class SqlStatuses {
  readonly #connection: StateConnection

  constructor(connection: StateConnection) {
    this.#connection = connection
  }

  async report(node: string, statuses: readonly NodeStatus[]): Promise<void> {
    if (statuses.length === 0) return
    await this.#connection.run(({ db, names, now }) => {
      const rows = statuses
        .map((status) => ({ worker: status.worker, node, state: status.state, status: JSON.stringify(status), reported_at: now }))
        // All writers lock rows in the same order, which avoids deadlocks.
        .sort((a, b) => (a.worker < b.worker ? -1 : 1))
      return upsertRows(db, { table: names.statuses, key: ['worker', 'node'], rows, existing: 'replace' })
    })
  }

  async forget(node: string, worker: string, workerId: string): Promise<void> {
    await this.#connection.run(({ db, jsonText, names }) =>
      db
        .deleteFrom(names.statuses)
        .where('worker', '=', worker)
        .where('node', '=', node)
        .where(jsonText('status', 'workerId'), '=', workerId)
        .execute(),
    )
  }

  /** Deletes the statuses of a removed worker on every node. */
  async erase(worker: string, workerId: string): Promise<void> {
    await this.#connection.run(({ db, jsonText, names }) =>
      db.deleteFrom(names.statuses).where('worker', '=', worker).where(jsonText('status', 'workerId'), '=', workerId).execute(),
    )
  }

  async forgetNode(node: string): Promise<void> {
    await this.#connection.run(({ db, names }) => db.deleteFrom(names.statuses).where('node', '=', node).execute())
  }

  async read(workers: readonly string[]): Promise<readonly StoredStatus[]> {
    if (workers.length === 0) return []
    const rows = await this.#connection.run(async ({ db, names }) =>
      db
        .selectFrom(names.statuses)
        .select(['node', 'status'])
        .where(await inList(db, 'worker', workers))
        .execute(),
    )
    return rows.map(({ node, status }) => ({ ...(JSON.parse(status) as NodeStatus), node }))
  }

  async running(nodes: readonly string[]): Promise<ReadonlySet<string>> {
    if (nodes.length === 0) return new Set()
    const rows = await this.#connection.run(async ({ db, names }) =>
      db
        .selectFrom(names.statuses)
        .select('worker')
        .distinct()
        .where('state', '=', 'running')
        .where(await inList(db, 'node', nodes))
        .execute(),
    )
    return new Set(rows.map(({ worker }) => worker))
  }

  /** Deletes the statuses of nodes other than these. */
  async sweep(nodes: readonly string[]): Promise<void> {
    const reporters = await this.#connection.run(({ db, names }) => db.selectFrom(names.statuses).select('node').distinct().execute())
    for (const { node } of reporters) if (!nodes.includes(node)) await this.forgetNode(node)
  }
}
