import type { Kysely } from 'kysely'
import { dataErrors } from 'zin'
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
  /** Whether this process runs the app, and not a command: it refuses data of an import that was not done. */
  readonly runs?: boolean
}

/** The row of `zin_app` that exists while an import is under way. */
const importing = { id: 2, name: 'import' } as const

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
  const rows = await tables.selectFrom('zin_app').selectAll().execute()
  if (app.runs === true && rows.some(({ id }) => Number(id) === importing.id)) throw dataErrors.DATA_INCOMPLETE(`The database ${where}`)
  const name = rows.find(({ id }) => Number(id) === 1)?.name ?? ''
  if (name !== app.name) throw databaseErrors.DATABASE_OTHER_APP(where, name, app.name)
}

/** Notes that an import into the database is under way, or that none is. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export async function noteImport(db: Kysely<any>, underWay: boolean): Promise<void> {
  if (underWay) await insertIfAbsent(db, 'zin_app', ['id'], importing)
  else await db.deleteFrom('zin_app').where('id', '=', importing.id).execute()
}

// biome-ignore lint/suspicious/noExplicitAny: as above
export async function isImportNoted(db: Kysely<any>): Promise<boolean> {
  return (await db.selectFrom('zin_app').select('id').where('id', '=', importing.id).executeTakeFirst()) !== undefined
}
