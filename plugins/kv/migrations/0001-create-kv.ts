import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

export const createKv = defineMigration({
  id: '0001_create_kv',
  async up(db) {
    const { sql } = await import('kysely')
    await db.schema
      .createTable('zin_kv')
      .ifNotExists()
      .addColumn('id', 'varchar(64)', (column) => column.primaryKey())
      // SQLite accepts any type name; `text` of MySQL would be limited to 64 KiB.
      .addColumn('value', sql`mediumtext`, (column) => column.notNull())
      .addColumn('expires_at', 'bigint')
      .execute()
    await useUnicode(db, 'zin_kv')
    await ensureIndex(db, { name: 'zin_kv_expires_at', table: 'zin_kv', columns: ['expires_at'] })
  },
  down: (db) => db.schema.dropTable('zin_kv').ifExists().execute(),
})
