import type { Kysely } from 'kysely'
import { isUniqueViolation } from './failures.js'

type Row = Readonly<Record<string, unknown>>
// biome-ignore lint/suspicious/noExplicitAny: tables are named by the caller
type Tables = Kysely<any>

/** One statement: INSERT, or UPDATE of the non-key columns. */
export async function upsert(db: Tables, dialect: 'sqlite' | 'mysql', table: string, key: readonly string[], row: Row): Promise<void> {
  const changed = Object.keys(row).filter((column) => !key.includes(column))
  const insert = db.insertInto(table).values(row)
  if (dialect === 'sqlite') {
    await insert
      .onConflict((conflict) => {
        const target = conflict.columns([...key])
        return changed.length === 0
          ? target.doNothing()
          : target.doUpdateSet((eb) => Object.fromEntries(changed.map((column) => [column, eb.ref(`excluded.${column}`)])))
      })
      .execute()
    return
  }
  const { sql } = await import('kysely')
  // Without columns to update, a key column is set to itself: "do nothing" in MySQL (`insert ignore`) would hide other errors.
  const set =
    changed.length === 0
      ? key.slice(0, 1).map((column) => [column, sql.ref(column)] as const)
      : changed.map((column) => [column, sql`values(${sql.ref(column)})`] as const)
  await insert.onDuplicateKeyUpdate(Object.fromEntries(set)).execute()
}

/** One INSERT; false when a unique key exists already, every other error is thrown. */
export async function insertIfAbsent(db: Tables, table: string, row: Row): Promise<boolean> {
  try {
    await db.insertInto(table).values(row).execute()
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}
