import { defineMigration, useUnicode } from 'zin/plugins/database'

export const createTotpTables = defineMigration({
  id: '0004_create_totp',
  async up(db) {
    await db.schema
      .createTable('zin_totp')
      .ifNotExists()
      .addColumn('user_id', 'varchar(191)', (column) => column.primaryKey())
      .addColumn('secret', 'varchar(500)', (column) => column.notNull())
      .addColumn('confirmed_at', 'bigint')
      .addColumn('last_step', 'bigint', (column) => column.notNull())
      .execute()
    await useUnicode(db, 'zin_totp')
    await db.schema
      .createTable('zin_recovery_codes')
      .ifNotExists()
      .addColumn('user_id', 'varchar(191)', (column) => column.notNull())
      .addColumn('hash', 'char(64)', (column) => column.notNull())
      .addPrimaryKeyConstraint('zin_recovery_codes_key', ['user_id', 'hash'])
      .execute()
    await useUnicode(db, 'zin_recovery_codes')
  },
  async down(db) {
    await db.schema.dropTable('zin_recovery_codes').ifExists().execute()
    await db.schema.dropTable('zin_totp').ifExists().execute()
  },
})
