import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

const table = 'zin_decisions'

export const createDecisions = defineMigration({
  id: '0001_create_decisions',
  async up(db) {
    await db.schema
      .createTable(table)
      .ifNotExists()
      .addColumn('id', 'char(36)', (column) => column.primaryKey())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('kind', 'varchar(40)', (column) => column.notNull())
      .addColumn('subject', 'varchar(200)', (column) => column.notNull())
      .addColumn('verdict', 'varchar(40)', (column) => column.notNull())
      .addColumn('acted', 'integer', (column) => column.notNull())
      .addColumn('reason', 'varchar(500)', (column) => column.notNull())
      .addColumn('rule', 'varchar(100)', (column) => column.notNull())
      .addColumn('actor', 'text', (column) => column.notNull())
      .addColumn('inputs', 'text')
      .addColumn('links', 'text')
      .execute()
    await useUnicode(db, table)
    await ensureIndex(db, { name: 'zin_decisions_about', table, columns: ['subject', 'at'] })
    await ensureIndex(db, { name: 'zin_decisions_kind', table, columns: ['kind', 'at'] })
    await ensureIndex(db, { name: 'zin_decisions_age', table, columns: ['at'] })
  },
  down: (db) => db.schema.dropTable(table).ifExists().execute(),
})
