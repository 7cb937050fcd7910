import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import { ensureIndex, upsertRows, useUnicode } from 'zin/plugins/database'
import { type TableNames, tableNames } from '../shared/sql/tables.js'

/** Creates the tables that the nodes of the app share. Idempotent. */
export async function createStateTables(db: Kysely<unknown>, prefix: string): Promise<void> {
  const { MysqlAdapter, sql } = await import('kysely')
  const mysql = db.getExecutor().adapter instanceof MysqlAdapter
  const name = (length: number) => sql`varchar(${sql.lit(length)})`
  const json = mysql ? sql`mediumtext` : sql`text`
  const names = tableNames(prefix)
  const create = (table: string) => db.schema.createTable(table).ifNotExists()

  await create(names.statuses)
    .addColumn('worker', name(50), (column) => column.notNull())
    .addColumn('node', name(100), (column) => column.notNull())
    .addColumn('state', name(20), (column) => column.notNull())
    .addColumn('status', json, (column) => column.notNull())
    .addColumn('reported_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint(`${names.statuses}_key`, ['worker', 'node'])
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
  await create(names.changes)
    .addColumn('worker', name(50), (column) => column.primaryKey())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .execute()
  await create(names.revisions)
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .execute()
  await upsertRows(db, { table: names.revisions, key: ['id'], rows: [{ id: 1, revision: 0 }], existing: 'add' })
  await useUnicode(db, names.statuses, names.operations, names.totals, names.minutes, names.changes, names.revisions)
  for (const [table, column] of indexed) {
    await ensureIndex(db, { name: `${names[table]}_by_${column}`, table: names[table], columns: [column] })
  }
}

/** Columns that queries filter by alone. */
const indexed: readonly (readonly [keyof TableNames, string])[] = [
  ['statuses', 'node'],
  ['operations', 'worker'],
  ['operations', 'saved_at'],
  ['minutes', 'minute'],
  ['changes', 'revision'],
  ['changes', 'changed_at'],
]

export function stateMigration(prefix: string): Migration<Kysely<unknown>> {
  return {
    id: `0002_create_${prefix}_state`,
    up: (db) => createStateTables(db, prefix),
    async down(db) {
      for (const table of Object.values(tableNames(prefix))) await db.schema.dropTable(table).ifExists().execute()
    },
  }
}
