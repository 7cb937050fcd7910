import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

export const createOneTimeTokensTables = defineMigration({
  id: '0005_create_one_time_tokens',
  async up(db) {
    await db.schema
      .createTable('zin_one_time_tokens')
      .ifNotExists()
      .addColumn('hash', 'char(64)', (column) => column.primaryKey())
      .addColumn('purpose', 'varchar(20)', (column) => column.notNull())
      .addColumn('user_id', 'varchar(191)', (column) => column.notNull())
      .addColumn('email', 'varchar(320)', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute()
    await useUnicode(db, 'zin_one_time_tokens')
    await ensureIndex(db, { name: 'zin_one_time_tokens_user', table: 'zin_one_time_tokens', columns: ['user_id'] })
    await ensureIndex(db, { name: 'zin_one_time_tokens_expiry', table: 'zin_one_time_tokens', columns: ['expires_at'] })
    await db.schema
      .createTable('zin_verified_emails')
      .ifNotExists()
      .addColumn('user_id', 'varchar(191)', (column) => column.primaryKey())
      .addColumn('email', 'varchar(320)', (column) => column.notNull())
      .addColumn('verified_at', 'bigint', (column) => column.notNull())
      .execute()
    await useUnicode(db, 'zin_verified_emails')
  },
  async down(db) {
    await db.schema.dropTable('zin_one_time_tokens').ifExists().execute()
    await db.schema.dropTable('zin_verified_emails').ifExists().execute()
  },
})
