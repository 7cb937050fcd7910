import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

export const createHistory = defineMigration({
  id: '0001_create_worker_health',
  async up(db) {
    await db.schema
      .createTable('zin_worker_health')
      .ifNotExists()
      .addColumn('id', 'char(36)', (column) => column.primaryKey())
      .addColumn('worker', 'varchar(50)', (column) => column.notNull())
      .addColumn('node', 'varchar(300)', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('healthy', 'integer', (column) => column.notNull())
      .addColumn('score', 'integer', (column) => column.notNull())
      .addColumn('duration_ms', 'integer', (column) => column.notNull())
      .addColumn('error', 'varchar(1000)')
      .execute()
    await useUnicode(db, 'zin_worker_health')
    await ensureIndex(db, { name: 'zin_worker_health_of', table: 'zin_worker_health', columns: ['worker', 'at'] })
    await ensureIndex(db, { name: 'zin_worker_health_age', table: 'zin_worker_health', columns: ['at'] })
  },
  down: (db) => db.schema.dropTable('zin_worker_health').ifExists().execute(),
})
