import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import { ensureIndex, useUnicode } from 'zin/plugins/database'
import { tableNames } from '../shared/sql/tables.js'

/** Creates the table of run times. Idempotent. */
export async function createDurationsTable(db: Kysely<unknown>, prefix: string): Promise<void> {
  const { durations } = tableNames(prefix)
  await db.schema
    .createTable(durations)
    .ifNotExists()
    .addColumn('worker', 'varchar(50)', (column) => column.notNull())
    .addColumn('minute', 'bigint', (column) => column.notNull())
    .addColumn('version', 'varchar(50)', (column) => column.notNull())
    .addColumn('bucket', 'integer', (column) => column.notNull())
    .addColumn('attempts', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint(`${durations}_key`, ['worker', 'minute', 'version', 'bucket'])
    .execute()
  await useUnicode(db, durations)
  await ensureIndex(db, { name: `${durations}_by_minute`, table: durations, columns: ['minute'] })
}

export function durationsMigration(prefix: string): Migration<Kysely<unknown>> {
  return {
    id: `0004_create_${prefix}_durations`,
    up: (db) => createDurationsTable(db, prefix),
    down: (db) => db.schema.dropTable(tableNames(prefix).durations).ifExists().execute(),
  }
}
