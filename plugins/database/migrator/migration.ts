import type { Kysely } from 'kysely'
import type { Migration } from 'zin'

// biome-ignore lint/suspicious/noExplicitAny: a migration names its own tables
export type DatabaseMigration = Migration<Kysely<any>>

/**
 * Types a migration of the plugin `database` and returns it unchanged. Pass it to `ctx.migration`.
 * On SQLite `db` is a transaction: use only `db`, and start no other transaction. MySQL commits each DDL statement
 * immediately, so write steps that can be repeated (`ifNotExists`, `ifExists`, `ensureIndex`).
 *
 * @example
 * export const createNotes = defineMigration({
 *   id: '0001_create_notes',
 *   up: (db) => db.schema.createTable('notes').ifNotExists().addColumn('id', 'varchar(36)', (id) => id.primaryKey()).execute(),
 *   down: (db) => db.schema.dropTable('notes').ifExists().execute(),
 * })
 */
export function defineMigration(migration: DatabaseMigration): DatabaseMigration {
  return migration
}
