import { type Kysely, sql } from 'kysely'
import { tableNames } from './tables.js'

/** Ages all rows, as if `ms` had passed. */
export async function ageState(db: Kysely<unknown>, prefix: string, ms: number): Promise<void> {
  const names = tableNames(prefix)
  const columns = [
    [names.changes, 'changed_at'],
    [names.minutes, 'minute'],
    [names.durations, 'minute'],
    [names.operations, 'saved_at'],
  ] as const
  for (const [table, column] of columns) {
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sql.ref(column)} - ${ms}`.execute(db)
  }
}
