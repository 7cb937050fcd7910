import type { Kysely } from 'kysely'
import type { AppliedMigration, KnownMigration } from './plan.js'
import { useUnicode } from './use-unicode.js'

interface LedgerTables {
  readonly zin_migrations: {
    readonly plugin: string
    readonly id: string
    readonly batch: number
    readonly applied_at: number
  }
}

// biome-ignore lint/suspicious/noExplicitAny: migrations share one handle with the ledger
type AnyTables = Kysely<any>

/** The table of applied migrations. */
export const ledger = {
  async create(db: AnyTables): Promise<void> {
    await db.schema
      .createTable('zin_migrations')
      .ifNotExists()
      .addColumn('plugin', 'varchar(100)', (column) => column.notNull())
      .addColumn('id', 'varchar(150)', (column) => column.notNull())
      .addColumn('batch', 'integer', (column) => column.notNull())
      .addColumn('applied_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('zin_migrations_key', ['plugin', 'id'])
      .execute()
    await useUnicode(db, 'zin_migrations')
  },

  async read(db: AnyTables): Promise<readonly AppliedMigration[]> {
    const rows = await (db as Kysely<LedgerTables>).selectFrom('zin_migrations').selectAll().execute()
    return rows.map((row) => ({ plugin: row.plugin, id: row.id, batch: Number(row.batch), appliedAt: Number(row.applied_at) }))
  },

  async has(db: AnyTables, { plugin, id }: KnownMigration): Promise<boolean> {
    const row = await (db as Kysely<LedgerTables>)
      .selectFrom('zin_migrations')
      .select('id')
      .where('plugin', '=', plugin)
      .where('id', '=', id)
      .executeTakeFirst()
    return row !== undefined
  },

  async add(db: AnyTables, { plugin, id, batch, appliedAt }: AppliedMigration): Promise<void> {
    await (db as Kysely<LedgerTables>).insertInto('zin_migrations').values({ plugin, id, batch, applied_at: appliedAt }).execute()
  },

  async remove(db: AnyTables, { plugin, id }: KnownMigration): Promise<void> {
    await (db as Kysely<LedgerTables>).deleteFrom('zin_migrations').where('plugin', '=', plugin).where('id', '=', id).execute()
  },
} as const
