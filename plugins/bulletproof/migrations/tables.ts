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

/** For tables that were created with the character set of the database. */
export const useUnicodeInTables = defineMigration({
  id: '0003_use_unicode_in_bulletproof',
  up: (db) => useUnicode(db, 'bulletproof_devices', 'bulletproof_nonces'),
  down: () => Promise.resolve(),
})
