import type { Compilable, Kysely, RawBuilder, SqlBool } from 'kysely'

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
  /** All rows must have the same columns. */
  readonly rows: readonly Row[]
  /** How an existing row changes: its columns are set to the new values, the new values are added to them, or it stays as it is. */
  readonly existing: 'replace' | 'add' | 'keep'
}

/** Returns the maximum number of parameters in one statement on the connection of a handle. */
export function maxParameters(db: Tables): number {
  const { maxParameters = 32_766 } = db.getExecutor().adapter as { readonly maxParameters?: number }
  return maxParameters
}

/**
 * Returns the condition that the column has one of the values. A list too long for the parameters of a statement (few behind a proxy) is
 * passed as one JSON text.
 *
 * @example
 * const db = database.tables()
 * await db.selectFrom('notes').selectAll().where(await inList(db, 'id', ['a', 'b'])).execute()
 */
export async function inList(db: Tables, column: string, values: readonly (string | number)[]): Promise<RawBuilder<SqlBool>> {
  const { MysqlAdapter, sql } = await import('kysely')
  const ref = sql.ref(column)
  if (values.length === 0) return sql<SqlBool>`1 = 0`
  // The other conditions of the statement also need parameters.
  if (values.length <= maxParameters(db) / 4) return sql<SqlBool>`${ref} in (${sql.join([...values])})`
  const json = JSON.stringify(values)
  if (!(db.getExecutor().adapter instanceof MysqlAdapter)) return sql<SqlBool>`${ref} in (select value from json_each(${json}))`
  const type = typeof values[0] === 'number' ? sql`bigint` : sql`varchar(700)`
  return sql<SqlBool>`${ref} in (select listed.value from json_table(${json}, '$[*]' columns (value ${type} path '$')) as listed)`
}

/** Inserts rows, or updates the non-key columns of existing ones. Uses one statement unless the rows have too many values for one. */
export async function upsertRows(db: Tables, input: UpsertRows): Promise<void> {
  for (const query of await upsertQueries(db, input)) await query.execute()
}

/** Returns the statements of {@link upsertRows}, for `Database.batch`. */
export async function upsertQueries(db: Tables, { table, key, rows, existing }: UpsertRows): Promise<readonly UpsertQuery[]> {
  const { MysqlAdapter } = await import('kysely')
  const mysql = db.getExecutor().adapter instanceof MysqlAdapter
  const columns = Object.keys(rows[0] ?? {})
  const changed = columns.filter((column) => !key.includes(column))
  const atOnce = Math.max(1, Math.floor(maxParameters(db) / Math.max(1, columns.length)))
  return Array.from({ length: Math.ceil(rows.length / atOnce) }, (_, index) => {
    const insert = (db as Kysely<Record<string, Row>>).insertInto(table).values(rows.slice(index * atOnce, (index + 1) * atOnce))
    if (mysql)
      // Its `insert ignore` would also ignore errors.
      return insert.onDuplicateKeyUpdate((eb) =>
        Object.fromEntries(
          changed.map((column) => {
            const value = eb.fn<number>('values', [eb.ref(column)])
            if (existing === 'keep') return [column, eb.ref(column)]
            return [column, existing === 'add' ? eb(eb.ref(column), '+', value) : value]
          }),
        ),
      )
    if (existing === 'keep') return insert.onConflict((conflict) => conflict.columns([...key]).doNothing())
    return insert.onConflict((conflict) =>
      conflict.columns([...key]).doUpdateSet((eb) =>
        Object.fromEntries(
          changed.map((column) => {
            const value = eb.ref(`excluded.${column}`)
            return [column, existing === 'add' ? eb(eb.ref(`${table}.${column}`), '+', value) : value]
          }),
        ),
      ),
    )
  })
}

/** A statement that can be executed, or compiled for a batch. */
export interface UpsertQuery extends Compilable {
  execute(): Promise<unknown>
}

/** Rows per statement of {@link deleteBefore} (SQLite limits the depth of a condition to 1,000), and statements per call. */
const rowsPerStatement = 500
const maxStatements = 200
/** Parameters of a statement of {@link deleteBefore} besides its keys. */
const otherParameters = 4

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
 * Deletes old rows in short statements, so that locks are held only briefly: at most 200 statements of up to 500 rows per call. A row that
 * gets a newer time in the meantime is kept. Returns true when more may be left.
 */
export async function deleteBefore(db: Tables, { table, key, column, before }: DeleteBefore): Promise<boolean> {
  const rowsAtOnce = Math.min(rowsPerStatement, Math.floor((maxParameters(db) - otherParameters) / key.length))
  for (let round = 0; round < maxStatements; round++) {
    const rows: readonly Row[] = await db
      .selectFrom(table)
      .select([...key])
      .where(column, '<', before)
      .limit(rowsAtOnce)
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
        .where(column, '<', before)
        .execute()
    } else if (rows.length > 0) {
      await db
        .deleteFrom(table)
        .where((eb) => eb.or(rows.map((row) => eb.and(row as Record<string, string>))))
        .where(column, '<', before)
        .execute()
    }
    if (rows.length < rowsAtOnce) return false
  }
  return true
}
