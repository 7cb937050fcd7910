import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import { tableNames } from '../cluster/sql/tables.js'
import { useUnicodeInCluster } from './use-unicode.js'

/** Makes the tables that processes of the app share. Can be repeated. */
export async function createClusterTables(db: Kysely<unknown>, prefix: string): Promise<void> {
  const { MysqlAdapter, sql } = await import('kysely')
  const mysql = db.getExecutor().adapter instanceof MysqlAdapter
  const name = (length: number) => sql`varchar(${sql.lit(length)})`
  const json = mysql ? sql`mediumtext` : sql`text`
  const names = tableNames(prefix)
  const create = (table: string) => db.schema.createTable(table).ifNotExists()

  await create(names.nodes)
    .addColumn('id', name(100), (column) => column.primaryKey())
    .addColumn('info', json, (column) => column.notNull())
    .addColumn('lease_until', 'bigint', (column) => column.notNull())
    .execute()
  await create(names.statuses)
    .addColumn('worker', name(50), (column) => column.notNull())
    .addColumn('node', name(100), (column) => column.notNull())
    .addColumn('state', name(20), (column) => column.notNull())
    .addColumn('status', json, (column) => column.notNull())
    .addColumn('reported_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint(`${names.statuses}_key`, ['worker', 'node'])
    .execute()
  await create(names.messages)
    // SQLite numbers rows by itself only under this very type.
    .addColumn('id', mysql ? 'bigint' : 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('body', json, (column) => column.notNull())
    .addColumn('sent_at', 'bigint', (column) => column.notNull())
    .execute()
  await create(names.operations)
    .addColumn('id', name(100), (column) => column.primaryKey())
    .addColumn('worker', name(50), (column) => column.notNull())
    .addColumn('body', json, (column) => column.notNull())
    .addColumn('saved_at', 'bigint', (column) => column.notNull())
    .execute()
  await create(names.totals)
    .addColumn('worker', name(50), (column) => column.primaryKey())
    .addColumn('completed', 'bigint', (column) => column.notNull())
    .addColumn('failed', 'bigint', (column) => column.notNull())
    .addColumn('lost', 'bigint', (column) => column.notNull())
    .addColumn('total_us', 'bigint', (column) => column.notNull())
    .execute()
  await create(names.minutes)
    .addColumn('worker', name(50), (column) => column.notNull())
    .addColumn('minute', 'bigint', (column) => column.notNull())
    .addColumn('version', name(50), (column) => column.notNull())
    .addColumn('completed', 'bigint', (column) => column.notNull())
    .addColumn('failed', 'bigint', (column) => column.notNull())
    .addColumn('lost', 'bigint', (column) => column.notNull())
    .addColumn('total_us', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint(`${names.minutes}_key`, ['worker', 'minute', 'version'])
    .execute()
  await create(names.leaders)
    .addColumn('role', name(100), (column) => column.primaryKey())
    .addColumn('node', name(100), (column) => column.notNull())
    .addColumn('epoch', 'bigint', (column) => column.notNull())
    .addColumn('lease_until', 'bigint', (column) => column.notNull())
    .execute()
  await create(names.revisions)
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .execute()
  await useUnicodeInCluster(db, prefix)
}

export function clusterMigration(prefix: string): Migration<Kysely<unknown>> {
  return {
    id: `0002_create_${prefix}_cluster`,
    up: (db) => createClusterTables(db, prefix),
    async down(db) {
      for (const table of Object.values(tableNames(prefix))) await db.schema.dropTable(table).ifExists().execute()
    },
  }
}
