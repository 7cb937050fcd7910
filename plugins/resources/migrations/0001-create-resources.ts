import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

export const createResources = defineMigration({
  id: '0001_create_resources',
  async up(db) {
    await db.schema
      .createTable('zin_resources')
      .ifNotExists()
      .addColumn('node', 'varchar(100)', (column) => column.notNull())
      .addColumn('resolution', 'varchar(10)', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('data', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('zin_resources_key', ['node', 'resolution', 'at'])
      .execute()
    await useUnicode(db, 'zin_resources')
    await ensureIndex(db, { name: 'zin_resources_time', table: 'zin_resources', columns: ['resolution', 'at'] })
    await ensureIndex(db, { name: 'zin_resources_expiry', table: 'zin_resources', columns: ['expires_at'] })
  },
  down: (db) => db.schema.dropTable('zin_resources').ifExists().execute(),
})
