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

/**
 * One INSERT, and one SELECT if a unique key exists already; false if that is the given one. Without a key, any counts. Every other error is
 * thrown.
 */
export async function insertIfAbsent(db: Tables, table: string, key: readonly string[] | undefined, row: Row): Promise<boolean> {
  // The row that was in the way may be removed before it is read.
  for (let attempt = 1; ; attempt++) {
    try {
      await db.insertInto(table).values(row).execute()
      return true
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      if (key === undefined || (await exists(db, table, key, row))) return false
      if (attempt > 1) throw error
    }
  }
}

async function exists(db: Tables, table: string, key: readonly string[], row: Row): Promise<boolean> {
  const found = key.reduce(
    (query, column) => query.where(column, '=', row[column]),
    db
      .selectFrom(table)
      .select(key[0] as string)
      .limit(1),
  )
  return (await found.executeTakeFirst()) !== undefined
}
