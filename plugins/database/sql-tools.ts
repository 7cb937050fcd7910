import type { Kysely, RawBuilder } from 'kysely'

/** Expressions for both SQLite and MySQL. Times are ms since 1970 by the clock of the database, independent of its time zone. */
export interface SqlTools {
  readonly mysql: boolean
  readonly now: RawBuilder<number>
  /** Start of the current minute. */
  readonly minute: RawBuilder<number>
  /** A time plus `ms`, which may be negative. */
  nowPlus(ms: number): RawBuilder<number>
  /** A string in a JSON column. */
  jsonText(column: string, name: string): RawBuilder<string>
}

// biome-ignore lint/suspicious/noExplicitAny: tables are named by the caller
type Tables = Kysely<any>

/**
 * The expressions for the dialect of a handle from `Database.tables`.
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
  /** How an existing row changes: set to the new values, or add them. */
  readonly existing: 'replace' | 'add'
}

/** One statement: inserts rows, or updates the non-key columns of existing ones. */
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

/** Rows per statement of {@link deleteBefore}, as SQLite limits the depth of a condition to 1,000, and statements per call. */
const rowsPerStatement = 500
const maxStatements = 200

export interface DeleteBefore {
  readonly table: string
  /** The columns of the primary key. */
  readonly key: readonly string[]
  /** A column of times, with an index. */
  readonly column: string
  /** Older rows are deleted: ms since 1970, or an expression. */
  readonly before: number | RawBuilder<number>
}

/**
 * Deletes old rows in short statements, so that locks are held only briefly: at most 100,000 rows per call. Returns true when more may be left.
 */
export async function deleteBefore(db: Tables, { table, key, column, before }: DeleteBefore): Promise<boolean> {
  for (let round = 0; round < maxStatements; round++) {
    const rows: readonly Row[] = await db
      .selectFrom(table)
      .select([...key])
      .where(column, '<', before)
      .limit(rowsPerStatement)
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
    if (rows.length < rowsPerStatement) return false
  }
  return true
}
