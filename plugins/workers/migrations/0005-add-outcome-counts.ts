import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import { tableNames } from '../shared/sql/tables.js'

const added = ['timed_out', 'cancelled']

/** Adds counts of timed-out and cancelled attempts. Idempotent. */
export async function addOutcomeCounts(db: Kysely<unknown>, prefix: string): Promise<void> {
  const { totals, minutes } = tableNames(prefix)
  for (const table of [totals, minutes]) {
    const known = await columnsOf(db, table)
    for (const column of added.filter((name) => !known.includes(name))) {
      await db.schema
        .alterTable(table)
        .addColumn(column, 'bigint', (definition) => definition.notNull().defaultTo(0))
        .execute()
    }
  }
}

export function outcomeCountsMigration(prefix: string): Migration<Kysely<unknown>> {
  return {
    id: `0005_add_${prefix}_outcome_counts`,
    up: (db) => addOutcomeCounts(db, prefix),
    async down(db) {
      const { totals, minutes } = tableNames(prefix)
      for (const table of [totals, minutes]) {
        const known = await columnsOf(db, table)
        for (const column of added.filter((name) => known.includes(name))) await db.schema.alterTable(table).dropColumn(column).execute()
      }
    },
  }
}

async function columnsOf(db: Kysely<unknown>, table: string): Promise<readonly string[]> {
  const tables = await db.introspection.getTables()
  return tables.find(({ name }) => name === table)?.columns.map(({ name }) => name) ?? []
}
