import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

/** The tables of the cluster, whose rows are leases and messages. */
export const tables = ['zin_cluster_nodes', 'zin_cluster_messages', 'zin_cluster_roles', 'zin_cluster_versions'] as const

export const createCluster = defineMigration({
  id: '0001_create_cluster',
  async up(db) {
    const { MysqlAdapter, sql } = await import('kysely')
    const mysql = db.getExecutor().adapter instanceof MysqlAdapter
    const json = mysql ? sql`mediumtext` : 'text'
    const create = (table: (typeof tables)[number]) => db.schema.createTable(table).ifNotExists()
    await create('zin_cluster_nodes')
      .addColumn('id', 'varchar(100)', (column) => column.primaryKey())
      .addColumn('cluster', 'varchar(100)', (column) => column.notNull())
      .addColumn('info', json, (column) => column.notNull())
      .addColumn('lease_until', 'bigint', (column) => column.notNull())
      .execute()
    await create('zin_cluster_messages')
      // SQLite generates row ids only for this exact type.
      .addColumn('id', mysql ? 'bigint' : 'integer', (column) => column.primaryKey().autoIncrement())
      .addColumn('cluster', 'varchar(100)', (column) => column.notNull())
      .addColumn('body', json, (column) => column.notNull())
      .addColumn('sent_at', 'bigint', (column) => column.notNull())
      .execute()
    await create('zin_cluster_roles')
      .addColumn('cluster', 'varchar(100)', (column) => column.notNull())
      .addColumn('role', 'varchar(100)', (column) => column.notNull())
      .addColumn('node', 'varchar(100)', (column) => column.notNull())
      .addColumn('epoch', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('zin_cluster_roles_key', ['cluster', 'role'])
      .execute()
    await create('zin_cluster_versions')
      .addColumn('cluster', 'varchar(100)', (column) => column.primaryKey())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .execute()
    await useUnicode(db, ...tables)
    await ensureIndex(db, { name: 'zin_cluster_nodes_of', table: 'zin_cluster_nodes', columns: ['cluster', 'lease_until'] })
    await ensureIndex(db, { name: 'zin_cluster_messages_age', table: 'zin_cluster_messages', columns: ['sent_at'] })
  },
  async down(db) {
    for (const table of tables) await db.schema.dropTable(table).ifExists().execute()
  },
})
