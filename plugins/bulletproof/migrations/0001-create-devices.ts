import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

export const createDevices = defineMigration({
  id: '0001_create_bulletproof_devices',
  async up(db) {
    await db.schema
      .createTable('bulletproof_devices')
      .ifNotExists()
      .addColumn('device_id', 'varchar(128)', (column) => column.primaryKey())
      .addColumn('user_id', 'varchar(191)', (column) => column.notNull())
      .addColumn('signing_secret', 'text', (column) => column.notNull())
      .addColumn('profile', 'varchar(16)', (column) => column.notNull())
      .addColumn('label', 'varchar(191)')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_seen_at', 'bigint', (column) => column.notNull())
      .addColumn('removed_at', 'bigint')
      .execute()
    await useUnicode(db, 'bulletproof_devices')
    await ensureIndex(db, { name: 'bulletproof_devices_user', table: 'bulletproof_devices', columns: ['user_id'] })
  },
  async down(db) {
    await db.schema.dropTable('bulletproof_devices').ifExists().execute()
  },
})
