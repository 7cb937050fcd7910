import type { Kysely, RawBuilder } from 'kysely'

/** Expressions that mean the same on SQLite and on MySQL. Times are ms since 1970 by the database's clock, whatever its time zone. */
export interface SqlTools {
  readonly mysql: boolean
  readonly now: RawBuilder<number>
  /** Start of the current minute. */
  readonly minute: RawBuilder<number>
  /** That time, and so many ms before or after it. */
  nowPlus(ms: number): RawBuilder<number>
  /** A text in a column of JSON. */
  jsonText(column: string, name: string): RawBuilder<string>
}

// biome-ignore lint/suspicious/noExplicitAny: tables are named by the caller
type Tables = Kysely<any>

/**
 * The expressions for the dialect of a handle that `Database.tables` gave.
 *
 * @example
 * const { now } = await sqlTools(database.tables())
 * await database.tables().insertInto('notes').values({ id, made_at: now }).execute()
 */
export async function sqlTools(db: Tables): Promise<SqlTools> {
  const { MysqlAdapter, sql } = await import('kysely')
  const mysql = db.getExecutor().adapter instanceof MysqlAdapter
  const now = mysql
    ? sql<number>`(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`
  return {
    mysql,
    now,
    minute: sql<number>`(${now} - ${now} % 60000)`,
    nowPlus: (ms) => sql<number>`(${now} + ${Math.round(ms)})`,
    jsonText(column, name) {
      const value = sql<string>`json_extract(${sql.ref(column)}, ${`$.${name}`})`
      return mysql ? sql<string>`json_unquote(${value})` : value
    },
  }
}

type Row = Readonly<Record<string, unknown>>

export interface UpsertRows {
  readonly table: string
  readonly key: readonly string[]
  /** All with the same columns. */
  readonly rows: readonly Row[]
  /** What a row that exists gets: the new values, or the sums. */
  readonly existing: 'replace' | 'add'
}

/** One statement: inserts rows, or changes the columns outside of the key where the key exists. */
export async function upsertRows(db: Tables, { table, key, rows, existing }: UpsertRows): Promise<void> {
  const { MysqlAdapter } = await import('kysely')
  const changed = Object.keys(rows[0] ?? {}).filter((column) => !key.includes(column))
  const insert = (db as Kysely<Record<string, Row>>).insertInto(table).values([...rows])
  await (db.getExecutor().adapter instanceof MysqlAdapter
    ? insert.onDuplicateKeyUpdate((eb) =>
        Object.fromEntries(
          changed.map((column) => {
            const value = eb.fn<number>('values', [eb.ref(column)])
            return [column, existing === 'add' ? eb(eb.ref(column), '+', value) : value]
          }),
        ),
      )
    : insert.onConflict((conflict) =>
        conflict.columns([...key]).doUpdateSet((eb) =>
          Object.fromEntries(
            changed.map((column) => {
              const value = eb.ref(`excluded.${column}`)
              return [column, existing === 'add' ? eb(eb.ref(`${table}.${column}`), '+', value) : value]
            }),
          ),
        ),
      )
  ).execute()
}

/** Rows that one statement of {@link deleteBefore} deletes, and statements of one call. */
const deletedAtOnce = 1_000
const mostDeletes = 100

export interface DeleteBefore {
  readonly table: string
  /** The columns of the primary key. */
  readonly key: readonly string[]
  /** A column of times, with an index. */
  readonly column: string
  /** Rows that are older go: ms since 1970, or an expression. */
  readonly before: number | RawBuilder<number>
}

/**
 * Deletes old rows in short statements, so that nobody waits long for a lock: at most 100,000 rows in one call. True: there may be more.
 */
export async function deleteBefore(db: Tables, { table, key, column, before }: DeleteBefore): Promise<boolean> {
  for (let round = 0; round < mostDeletes; round++) {
    const rows: readonly Row[] = await db
      .selectFrom(table)
      .select([...key])
      .where(column, '<', before)
      .limit(deletedAtOnce)
      .execute()
    const [only] = key
    if (rows.length > 0 && key.length === 1 && only !== undefined) {
      await db
        .deleteFrom(table)
        .where(
          only,
          'in',
          rows.map((row) => row[only]),
        )
        .execute()
    } else if (rows.length > 0) {
      await db
        .deleteFrom(table)
        .where((eb) => eb.or(rows.map((row) => eb.and(row as Record<string, string>))))
        .execute()
    }
    if (rows.length < deletedAtOnce) return false
  }
  return true
}
