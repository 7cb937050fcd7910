import { upsertRows } from 'zin/plugins/database'
import type { NodeInfo } from '../../contract.js'
import { lostNodeMs, type NodeList, nodesChanged, type Renewal } from '../contract.js'
import { leased } from '../lease.js'
import type { SqlConnection } from './connection.js'
import type { SqlMessages } from './messages.js'

const table = 'zin_cluster_nodes'
const versions = 'zin_cluster_versions'

/** The leases of the nodes, and the version of their list. */
export class SqlNodes {
  readonly #connection: SqlConnection
  readonly #messages: SqlMessages

  constructor(connection: SqlConnection, messages: SqlMessages) {
    this.#connection = connection
    this.#messages = messages
  }

  /** Two statements: one write and one read. */
  async renew(node: NodeInfo, leaseMs: number, changed: boolean): Promise<Renewal> {
    const info = JSON.stringify(node)
    const renewed = await this.#connection.run(({ db, now, nowPlus }) =>
      db
        .updateTable(table)
        .set({ lease_until: nowPlus(leaseMs), ...(changed ? { info } : {}) })
        .where('id', '=', node.id)
        .where('lease_until', '>', now)
        .executeTakeFirst(),
    )
    const joined = renewed.numUpdatedRows === 0n
    if (joined) await this.#join(node.id, info, leaseMs)
    if (joined || changed) await this.#changed(node.id)
    return { joined, ...(await this.#late(leaseMs)) }
  }

  async leave(node: string): Promise<void> {
    const left = await this.#connection.run(({ db }) => db.deleteFrom(table).where('id', '=', node).executeTakeFirst())
    if (left.numDeletedRows > 0n) await this.#changed(node)
  }

  /** One statement. */
  async read(): Promise<NodeList> {
    const { cluster } = this.#connection
    const rows = await this.#connection.run(({ db, now }) =>
      db
        .selectFrom(table)
        .select((eb) => [
          'info',
          'lease_until',
          now.as('now'),
          eb.selectFrom(versions).select('version').where(`${versions}.cluster`, '=', cluster).as('version'),
        ])
        .where('cluster', '=', cluster)
        .execute(),
    )
    return {
      version: Number(rows[0]?.version ?? 0),
      nodes: rows.map(({ info, lease_until, now }) => leased(info, Number(lease_until), Number(now))),
    }
  }

  /** Deletes nodes that were lost long ago. */
  async sweep(): Promise<void> {
    const { cluster } = this.#connection
    const lost = await this.#connection.run(({ db, nowPlus }) =>
      db.deleteFrom(table).where('cluster', '=', cluster).where('lease_until', '<', nowPlus(-lostNodeMs)).executeTakeFirst(),
    )
    if (lost.numDeletedRows > 0n) await this.#addVersion()
  }

  async #join(id: string, info: string, leaseMs: number): Promise<void> {
    const { cluster } = this.#connection
    await this.#connection.run(({ db, nowPlus }) =>
      upsertRows(db, { table, key: ['id'], rows: [{ id, cluster, info, lease_until: nowPlus(leaseMs) }], existing: 'replace' }),
    )
  }

  async #late(leaseMs: number): Promise<Pick<Renewal, 'version' | 'late'>> {
    const { cluster } = this.#connection
    const rows = await this.#connection.run(({ db, now, nowPlus }) =>
      db
        .selectFrom(`${versions} as v`)
        .leftJoin(`${table} as n`, (join) => join.onRef('n.cluster', '=', 'v.cluster').on('n.lease_until', '<', nowPlus((leaseMs * 2) / 3)))
        .select(['v.version as version', 'n.id as id', 'n.lease_until as lease_until', now.as('now')])
        .where('v.cluster', '=', cluster)
        .execute(),
    )
    return {
      version: Number(rows[0]?.version ?? 0),
      late: rows.flatMap(({ id, lease_until, now }) => (id === null ? [] : [{ id, leaseMs: Number(lease_until) - Number(now) }])),
    }
  }

  async #changed(node: string): Promise<void> {
    await this.#addVersion()
    await this.#messages.send({ kind: nodesChanged, from: node })
  }

  #addVersion(): Promise<void> {
    const { cluster } = this.#connection
    return this.#connection.run(({ db }) =>
      upsertRows(db, { table: versions, key: ['cluster'], rows: [{ cluster, version: 1 }], existing: 'add' }),
    )
  }
}
