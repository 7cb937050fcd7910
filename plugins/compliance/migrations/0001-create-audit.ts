import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

const entries = 'zin_audit'
const chains = 'zin_compliance_chains'

export const createAudit = defineMigration({
  id: '0001_create_audit',
  async up(db) {
    await db.schema
      .createTable(entries)
      .ifNotExists()
      .addColumn('id', 'bigint', (column) => column.primaryKey())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('action', 'varchar(100)', (column) => column.notNull())
      .addColumn('target', 'varchar(250)', (column) => column.notNull())
      .addColumn('outcome', 'varchar(20)', (column) => column.notNull())
      .addColumn('actor', 'varchar(200)', (column) => column.notNull())
      .addColumn('device', 'varchar(200)')
      .addColumn('via', 'varchar(10)', (column) => column.notNull())
      .addColumn('digest_before', 'char(64)')
      .addColumn('digest_after', 'char(64)')
      .addColumn('reason', 'varchar(500)')
      .addColumn('address', 'varchar(64)')
      .addColumn('request_id', 'varchar(128)')
      .addColumn('ref', 'bigint')
      .addColumn('hash', 'char(64)', (column) => column.notNull())
      .execute()
    await useUnicode(db, entries)
    await ensureIndex(db, { name: 'zin_audit_age', table: entries, columns: ['at'] })
    await ensureIndex(db, { name: 'zin_audit_target', table: entries, columns: ['target', 'at'] })
    await ensureIndex(db, { name: 'zin_audit_actor', table: entries, columns: ['actor', 'at'] })
    await db.schema
      .createTable(chains)
      .ifNotExists()
      .addColumn('chain', 'bigint', (column) => column.primaryKey())
      .addColumn('node', 'varchar(100)', (column) => column.notNull())
      .addColumn('opened_at', 'bigint', (column) => column.notNull())
      .addColumn('key_id', 'char(16)', (column) => column.notNull())
      .addColumn('opening', 'char(64)', (column) => column.notNull())
      .addColumn('entries', 'bigint', (column) => column.notNull())
      .addColumn('last_hash', 'char(64)', (column) => column.notNull())
      .addColumn('closed', 'integer', (column) => column.notNull())
      .addColumn('seal', 'char(64)', (column) => column.notNull())
      .addColumn('purged', 'bigint', (column) => column.notNull())
      .addColumn('purged_hash', 'char(64)', (column) => column.notNull())
      .addColumn('purged_key_id', 'char(16)', (column) => column.notNull())
      .addColumn('purged_seal', 'char(64)', (column) => column.notNull())
      .execute()
    await useUnicode(db, chains)
  },
  async down(db) {
    await db.schema.dropTable(entries).ifExists().execute()
    await db.schema.dropTable(chains).ifExists().execute()
  },
})
