import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

export const createRefreshTokens = defineMigration({
  id: '0003_create_refresh_tokens',
  async up(db) {
    await db.schema
      .createTable('zin_refresh_tokens')
      .ifNotExists()
      .addColumn('device_id', 'varchar(128)', (column) => column.primaryKey())
      .addColumn('user_id', 'varchar(191)', (column) => column.notNull())
      .addColumn('family', 'char(36)', (column) => column.notNull())
      .addColumn('hash', 'char(64)', (column) => column.notNull())
      .addColumn('claims', 'text', (column) => column.notNull())
      .addColumn('issued', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('ends_at', 'bigint', (column) => column.notNull())
      .execute()
    await useUnicode(db, 'zin_refresh_tokens')
    await ensureIndex(db, { name: 'zin_refresh_tokens_user', table: 'zin_refresh_tokens', columns: ['user_id'] })
    await ensureIndex(db, { name: 'zin_refresh_tokens_expiry', table: 'zin_refresh_tokens', columns: ['expires_at'] })
  },
  down: (db) => db.schema.dropTable('zin_refresh_tokens').ifExists().execute(),
})
