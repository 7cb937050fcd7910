import type { ExpressionBuilder } from 'kysely'
import { roleReleased } from '../contract.js'
import type { SqlConnection } from './connection.js'
import type { SqlMessages } from './messages.js'
import type { ClusterTables } from './tables.js'

const table = 'zin_cluster_roles'
const nodes = 'zin_cluster_nodes'

/** Leader roles: a row that only its holder may change, or any node once the lease of the holder has expired. */
export class SqlRoles {
  readonly #connection: SqlConnection
  readonly #messages: SqlMessages

  constructor(connection: SqlConnection, messages: SqlMessages) {
    this.#connection = connection
    this.#messages = messages
  }

  async acquire(role: string, node: string): Promise<number | undefined> {
    const { cluster } = this.#connection
    const held = await this.#connection.run(async ({ db, now }) => {
      const living = db.selectFrom(nodes).select('id').where('lease_until', '>', now)
      const mine = await living.where('id', '=', node).executeTakeFirst()
      if (mine === undefined) return 'no lease'
      await db
        .updateTable(table)
        .set((eb) => ({ epoch: eb('epoch', '+', 1), node }))
        .where('cluster', '=', cluster)
        .where('role', '=', role)
        .where('node', '<>', node)
        .where('node', 'not in', living)
        .execute()
      return db.selectFrom(table).select(['node', 'epoch']).where('cluster', '=', cluster).where('role', '=', role).executeTakeFirst()
    })
    if (held === 'no lease') return undefined
    if (held !== undefined) return held.node === node ? Number(held.epoch) : undefined
    return (await this.#connection.insertIfAbsent(table, ['cluster', 'role'], { cluster, role, node, epoch: 1 })) ? 1 : undefined
  }

  async epoch(role: string): Promise<number> {
    const { cluster } = this.#connection
    const row = await this.#connection.run(({ db }) =>
      db.selectFrom(table).select('epoch').where('cluster', '=', cluster).where('role', '=', role).executeTakeFirst(),
    )
    return Number(row?.epoch ?? 0)
  }

  async release(role: string, node: string, forget = false): Promise<void> {
    const { cluster } = this.#connection
    const given = await this.#connection.run(async ({ db }) => {
      const held = (eb: ExpressionBuilder<ClusterTables, typeof table>) => eb.and({ cluster, role, node })
      if (forget) return (await db.deleteFrom(table).where(held).executeTakeFirst()).numDeletedRows
      return (await db.updateTable(table).set({ node: '' }).where(held).executeTakeFirst()).numUpdatedRows
    })
    if (given > 0n) await this.#messages.send({ kind: roleReleased, from: node, body: role })
  }
}
