import type { Kysely } from 'kysely'
import { databaseErrors } from '../errors.js'
import { insertIfAbsent } from '../writes.js'
import { useUnicode } from './use-unicode.js'

interface OwnerTables {
  readonly zin_app: { readonly id: number; readonly name: string }
}

/** The app that opens a database. */
export interface App {
  readonly name: string
  /** Previous name of the app; empty when it was never renamed. */
  readonly renamedFrom: string
}

/**
 * Records in the table `zin_app` which app a database on a server belongs to, and refuses any other with DATABASE_OTHER_APP:
 * apps that share a database by mistake would run each other's workers and accept each other's users.
 */
// biome-ignore lint/suspicious/noExplicitAny: migrations share one handle with the table
export async function claimDatabase(db: Kysely<any>, app: App, where: string): Promise<void> {
  const tables = db as Kysely<OwnerTables>
  await db.schema
    .createTable('zin_app')
    .ifNotExists()
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'varchar(200)', (column) => column.notNull())
    .execute()
  await useUnicode(db, 'zin_app')
  await insertIfAbsent(db, 'zin_app', ['id'], { id: 1, name: app.name })
  if (app.renamedFrom !== '') await tables.updateTable('zin_app').set({ name: app.name }).where('name', '=', app.renamedFrom).execute()
  const { name } = await tables.selectFrom('zin_app').select('name').where('id', '=', 1).executeTakeFirstOrThrow()
  if (name !== app.name) throw databaseErrors.DATABASE_OTHER_APP(where, name, app.name)
}
