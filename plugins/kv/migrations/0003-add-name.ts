import { defineMigration } from 'zin/plugins/database'

/** The key itself, so that it can be moved to a store that has no ids. */
export const addNameToKv = defineMigration({
  id: '0003_add_name_to_kv',
  async up(db) {
    const { sql } = await import('kysely')
    const columns = (await db.introspection.getTables()).find(({ name }) => name === 'zin_kv')?.columns ?? []
    if (columns.some(({ name }) => name === 'name')) return
    await db.schema.alterTable('zin_kv').addColumn('name', sql`mediumtext`).execute()
  },
  down: (db) => db.schema.alterTable('zin_kv').dropColumn('name').execute(),
})
