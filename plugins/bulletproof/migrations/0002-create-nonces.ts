import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

export const createNonces = defineMigration({
  id: '0002_create_bulletproof_nonces',
  async up(db) {
    await db.schema
      .createTable('bulletproof_nonces')
      .ifNotExists()
      .addColumn('id', 'varchar(32)', (column) => column.primaryKey())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute()
    await useUnicode(db, 'bulletproof_nonces')
    await ensureIndex(db, { name: 'bulletproof_nonces_expiry', table: 'bulletproof_nonces', columns: ['expires_at'] })
  },
  async down(db) {
    await db.schema.dropTable('bulletproof_nonces').ifExists().execute()
  },
})
