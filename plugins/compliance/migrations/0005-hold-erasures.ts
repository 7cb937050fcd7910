import type { Kysely } from 'kysely'
import { defineMigration, ensureIndex, sqlTools } from 'zin/plugins/database'

const jobs = 'zin_subject_jobs'
const added = [
  [jobs, 'erased_at', 'bigint'],
  ['zin_erasures', 'digests', 'text'],
] as const

/** Adds when a job was erased before it was there, and all digests of an erased subject. Idempotent. */
export const holdErasures = defineMigration({
  id: '0005_hold_erasures',
  async up(db) {
    for (const [table, column, type] of added)
      if (!(await has(db, table, column))) await db.schema.alterTable(table).addColumn(column, type).execute()
    await ensureIndex(db, { name: 'zin_subject_jobs_erased', table: jobs, columns: ['erased_at'] })
  },
  async down(db) {
    // MySQL drops an index with its only column; SQLite does not drop a column with an index.
    if (!(await sqlTools(db)).mysql) await db.schema.dropIndex('zin_subject_jobs_erased').ifExists().execute()
    for (const [table, column] of added) if (await has(db, table, column)) await db.schema.alterTable(table).dropColumn(column).execute()
  },
})

async function has(db: Pick<Kysely<unknown>, 'introspection'>, table: string, column: string): Promise<boolean> {
  const tables = await db.introspection.getTables()
  return tables.find(({ name }) => name === table)?.columns.some(({ name }) => name === column) === true
}
