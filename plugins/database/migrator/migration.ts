import type { Kysely } from 'kysely'
import type { Migration } from 'zin'

// biome-ignore lint/suspicious/noExplicitAny: a migration names its own tables
export type DatabaseMigration = Migration<Kysely<any>>

/**
 * Types a migration of the plugin `database`; it returns what it gets. Give it to `ctx.migration`.
 * `db` is a transaction on SQLite: use it alone, and begin none of your own. MySQL commits each change of a table by
 * itself, so make steps that can be repeated (`ifNotExists`, `ifExists`, `ensureIndex`).
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
