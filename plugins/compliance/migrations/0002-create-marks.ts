import { defineMigration, useUnicode } from 'zin/plugins/database'

const table = 'zin_compliance_marks'

export const createMarks = defineMigration({
  id: '0002_create_marks',
  async up(db) {
    await db.schema
      .createTable(table)
      .ifNotExists()
      .addColumn('name', 'varchar(150)', (column) => column.primaryKey())
      .addColumn('value', 'varchar(500)', (column) => column.notNull())
      .execute()
    await useUnicode(db, table)
  },
  down: (db) => db.schema.dropTable(table).ifExists().execute(),
})
