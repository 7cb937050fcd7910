import { defineMigration, useUnicode } from 'zin/plugins/database'

export const createUsers = defineMigration({
  id: '0001_create_users',
  async up(db) {
    await db.schema
      .createTable('zin_users')
      .ifNotExists()
      .addColumn('id', 'char(36)', (column) => column.primaryKey())
      .addColumn('email', 'varchar(320)', (column) => column.notNull().unique())
      .addColumn('password_hash', 'varchar(255)', (column) => column.notNull())
      .addColumn('role', 'varchar(100)', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('disabled_at', 'bigint')
      .execute()
    await useUnicode(db, 'zin_users')
  },
  down: (db) => db.schema.dropTable('zin_users').ifExists().execute(),
})
