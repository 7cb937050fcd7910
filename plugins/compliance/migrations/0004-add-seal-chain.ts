import type { Kysely } from 'kysely'
import { defineMigration } from 'zin/plugins/database'

const table = 'zin_compliance_chains'
const added = [
  ['counter', 'bigint', 0],
  ['previous_seal', 'char(64)', ''],
  ['seal_key_id', 'char(16)', ''],
] as const

/** Adds what links the seals of a chain. Chains from before keep the counter 0. Idempotent. */
export const addSealChain = defineMigration({
  id: '0004_add_seal_chain',
  async up(db) {
    const known = await columnsOf(db)
    for (const [column, type, value] of added.filter(([name]) => !known.includes(name))) {
      await db.schema
        .alterTable(table)
        .addColumn(column, type, (definition) => definition.notNull().defaultTo(value))
        .execute()
    }
  },
  async down(db) {
    const known = await columnsOf(db)
    for (const [column] of added.filter(([name]) => known.includes(name))) await db.schema.alterTable(table).dropColumn(column).execute()
  },
})

async function columnsOf(db: Pick<Kysely<unknown>, 'introspection'>): Promise<readonly string[]> {
  const tables = await db.introspection.getTables()
  return tables.find(({ name }) => name === table)?.columns.map(({ name }) => name) ?? []
}
