import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import { useUnicode } from 'zin/plugins/database'

type Dialect = 'sqlite' | 'mysql'

/** Creates the workers table. Idempotent. */
export async function createWorkersTable(db: Kysely<unknown>, table: string, dialect: Dialect): Promise<void> {
  const { sql } = await import('kysely')
  await db.schema
    .createTable(table)
    .ifNotExists()
    .addColumn('name', 'varchar(50)', (column) => column.primaryKey())
    .addColumn('id', 'varchar(36)', (column) => column.notNull())
    .addColumn('active', 'integer', (column) => column.notNull())
    // Versions with their descriptions may exceed the 64 KiB of a MySQL `text`.
    .addColumn('record', dialect === 'mysql' ? sql`mediumtext` : 'text', (column) => column.notNull())
    .addColumn('generation', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await useUnicode(db, table)
}

/** The name of the table is part of the id, because another WORKER_PERSISTENCE_TABLE needs another table. */
export function workersMigration(table: string, dialect: () => Dialect): Migration<Kysely<unknown>> {
  return {
    id: `0001_create_${table}`,
    up: (db) => createWorkersTable(db, table, dialect()),
    down: (db) => db.schema.dropTable(table).ifExists().execute(),
  }
}
