import type { Kysely, RawBuilder } from 'kysely'
import type { DataRecord, DataStore } from 'zin'
import type { Connection } from '../connections/connection.js'
import { databaseErrors } from '../errors.js'
import type { Migrations } from '../migrator/migrations.js'
import { isImportNoted, noteImport } from '../migrator/owner.js'
import type { MigrationStatus } from '../migrator/plan.js'
import { maxParameters } from '../sql-tools.js'
import { type Column, readTables, type TableInfo } from './columns.js'
import { decodeValue, encodeValue, valueFault } from './values.js'

export interface TablesParts {
  readonly connection: Connection
  readonly migrations: Migrations
  /** Whether the app runs its migrations only on request. */
  readonly manual: boolean
  readonly covered: ReadonlySet<string>
}

/** By plugin: the ids of its migrations. */
type Applied = Readonly<Record<string, readonly string[]>>

/** Rows that are read at a time. */
const pageRows = 200

// biome-ignore lint/suspicious/noExplicitAny: all tables of the app
type Tables = Kysely<any>

/** The rows of all tables on the connection `default`, as `zin data:export` and `data:import` move them. Applies pending migrations. */
export async function tablesStore({ connection, covered, manual, migrations }: TablesParts): Promise<DataStore> {
  const mysql = connection.dialect === 'mysql'
  const db = (): Tables => connection.tables()
  const pending = (await migrations.status()).filter(({ status }) => status === 'pending')
  if (pending.length > 0 && manual)
    throw databaseErrors.MIGRATION_REFUSED('Migrations are pending and DB_MIGRATE is manual: run `zin migrate` first')
  const failed = (await migrations.up()).find(({ status }) => status === 'failed')
  if (failed !== undefined) throw databaseErrors.MIGRATION_REFUSED(`Migration ${failed.id} of ${failed.plugin} failed: ${failed.error}`)
  const applied = appliedOf(await migrations.status())
  const tables = await readTables(db(), mysql, covered)
  const known = new Map(tables.map((table) => [table.name, table]))

  const count = async ({ name }: TableInfo): Promise<number> => {
    const row = await db().selectFrom(name).select(db().fn.countAll().as('n')).executeTakeFirstOrThrow()
    return Number(row.n)
  }
  let writing: Writing | undefined
  return {
    where: mysql ? 'MySQL or MariaDB' : 'SQLite',
    facts: { applied },
    async size() {
      let rows = 0
      for (const table of tables) rows += await count(table)
      return rows
    },
    counts: ({ row }) => row !== undefined,
    async *read() {
      for (const table of tables) {
        if ((await count(table)) === 0) continue
        const { name, columns } = table
        yield { of: name, columns: columns.map((column) => column.name) }
        for await (const row of rowsOf(db(), table, mysql)) yield { of: name, row: columns.map((column) => encodeValue(row[column.name])) }
      }
      return []
    },
    checker(facts) {
      const check = rowChecker(known, mysql)
      checkApplied(applied, appliedIn(facts))
      return (record) => void check(record)
    },
    async write(records) {
      writing ??= { rows: rowChecker(known, mysql), mysql }
      await writeRows(connection, writing, records)
    },
    async clear() {
      await withoutKeyChecks(connection, mysql, async (run) => {
        for (const { name } of tables) await run(db().deleteFrom(name).compile())
      })
    },
    ...(connection.shared && {
      mark: (importing: boolean) => noteImport(db(), importing),
      marked: () => isImportNoted(db()),
    }),
  }
}

/** Without those that are no longer in the code. */
function appliedOf(rows: readonly MigrationStatus[]): Applied {
  const plugins: Record<string, string[]> = {}
  for (const { id, plugin, status } of rows) if (status === 'applied') plugins[plugin] = [...(plugins[plugin] ?? []), id].sort()
  return plugins
}

function appliedIn(facts: unknown): Applied {
  const { applied } = (facts ?? {}) as { readonly applied?: unknown }
  const isList = (ids: unknown): boolean => Array.isArray(ids) && ids.every((id) => typeof id === 'string')
  if (typeof applied !== 'object' || applied === null || !Object.values(applied).every(isList))
    throw new Error('the first line has no list of applied migrations')
  return applied as Applied
}

/** A plugin whose tables are on both sides must have them in the same form. Throws an error that says which one has not. */
function checkApplied(here: Applied, there: Applied): void {
  for (const [plugin, ids] of Object.entries(here)) {
    const given = there[plugin]
    if (given === undefined) continue
    const [missing] = ids.filter((id) => !given.includes(id))
    if (missing !== undefined)
      throw new Error(
        `the tables of ${plugin} in the file are older: they lack the migration ${missing}. Start the exported app with this version, and export it again`,
      )
    const [unknown] = given.filter((id) => !ids.includes(id))
    if (unknown !== undefined)
      throw new Error(
        `the tables of ${plugin} in the file are newer: they have the migration ${unknown}. Import it with the version that has exported it`,
      )
  }
}

type Row = Readonly<Record<string, unknown>>

/** Pages by the primary key, or by position in a table without one: the app does not run, so rows stay where they are. */
async function* rowsOf(db: Tables, { columns, name }: TableInfo, mysql: boolean): AsyncGenerator<Row, void, undefined> {
  const { sql } = await import('kysely')
  const key = await keyOf(db, name, mysql)
  const columnOf = new Map(columns.map((column) => [column.name, column]))
  const selected = columns.map((column) => exact(sql, column, mysql))
  for (let last: Row | undefined, from = 0; ; ) {
    let query = db.selectFrom(name).select(selected).limit(pageRows)
    if (key.length === 0 || key.some((column) => !columnOf.has(column))) query = query.offset(from)
    else {
      for (const column of key) query = query.orderBy(column)
      const after = last
      if (after !== undefined)
        query = query.where((eb) =>
          eb.or(
            key.map((column, i) => eb.and([...key.slice(0, i).map((same) => eb(same, '=', after[same])), eb(column, '>', after[column])])),
          ),
        )
    }
    const rows: readonly Row[] = await query.execute()
    yield* rows
    if (rows.length < pageRows) return
    from += rows.length
    last = rows.at(-1)
  }
}

type Sql = typeof import('kysely')['sql']

/** MySQL prints 6 digits of a FLOAT, unless it is computed with. */
function exact(sql: Sql, { name, type }: Column, mysql: boolean) {
  const value: RawBuilder<unknown> = mysql && type === 'float' ? sql`(${sql.ref(name)} + 0e0)` : sql`${sql.ref(name)}`
  return value.as(name)
}

async function keyOf(db: Tables, table: string, mysql: boolean): Promise<readonly string[]> {
  const { sql } = await import('kysely')
  const { rows } = mysql
    ? await sql<{ name: string }>`select column_name as name from information_schema.key_column_usage
        where table_schema = database() and table_name = ${table} and constraint_name = 'PRIMARY' order by ordinal_position`.execute(db)
    : await sql<{ name: string }>`select name from pragma_table_info(${table}) where pk > 0 order by pk`.execute(db)
  return rows.map(({ name }) => name)
}

interface Writing {
  readonly rows: (record: DataRecord) => CheckedRow | undefined
  readonly mysql: boolean
}

interface CheckedRow {
  readonly table: string
  readonly row: Row
}

/** Checks each record, and returns the row that it is; undefined for the head of a table. */
function rowChecker(tables: ReadonlyMap<string, TableInfo>, mysql: boolean): (record: DataRecord) => CheckedRow | undefined {
  let current: { readonly name: string; readonly columns: readonly Column[] } | undefined
  return ({ columns, of, row }) => {
    if (row === undefined) {
      current = { name: of, columns: columnsOf(tables, of, columns) }
      return undefined
    }
    if (current?.name !== of) throw new Error(`a row of the table "${of.slice(0, 100)}" comes before the list of its columns`)
    if (!Array.isArray(row) || row.length !== current.columns.length)
      throw new Error(`a row of the table "${of}" does not have ${current.columns.length} values`)
    const values = current.columns.map((column, i) => {
      const wrong = (why: string) => new Error(`the value of ${of}.${column.name} ${why}`)
      let value: unknown
      try {
        value = decodeValue(row[i])
      } catch (error) {
        throw wrong((error as Error).message)
      }
      const fault = valueFault(value, column, mysql)
      if (fault !== undefined) throw wrong(fault)
      return [column.name, value] as const
    })
    return { table: of, row: Object.fromEntries(values) }
  }
}

function columnsOf(tables: ReadonlyMap<string, TableInfo>, name: string, given: unknown): readonly Column[] {
  const table = tables.get(name)
  if (table === undefined)
    throw new Error(
      `this app has no table "${name.slice(0, 100)}". Enable the plugin that it belongs to, or leave it out with --without database/${name.slice(0, 100)}`,
    )
  if (!Array.isArray(given) || new Set(given).size !== given.length) throw new Error(`the table "${name}" has no list of different columns`)
  const columns = given.map((one: unknown) => {
    const column = table.columns.find((known) => known.name === one)
    if (column === undefined) throw new Error(`the table "${name}" has no column "${String(one).slice(0, 100)}" here`)
    return column
  })
  const missing = table.columns.find((column) => !column.optional && !columns.includes(column))
  if (missing !== undefined) throw new Error(`the rows of the table "${name}" lack the column "${missing.name}"`)
  return columns
}

async function writeRows(connection: Connection, { mysql, rows }: Writing, records: readonly DataRecord[]): Promise<void> {
  const db: Tables = connection.tables()
  const groups: { readonly table: string; readonly rows: Row[] }[] = []
  for (const record of records) {
    const checked = rows(record)
    if (checked === undefined) continue
    const last = groups.at(-1)
    const most = Math.max(1, Math.floor(Math.min(maxParameters(db), 10_000) / Math.max(1, Object.keys(checked.row).length)))
    if (last?.table === checked.table && last.rows.length < most) last.rows.push(checked.row)
    else groups.push({ table: checked.table, rows: [checked.row] })
  }
  await withoutKeyChecks(connection, mysql, async (run) => {
    for (const group of groups) await run(db.insertInto(group.table).values(group.rows).compile())
  })
}

type Run = (query: Parameters<Tables['executeQuery']>[0]) => Promise<unknown>

/** Runs queries in one transaction that does not check foreign keys: rows are written table by table. */
async function withoutKeyChecks(connection: Connection, mysql: boolean, work: (run: Run) => Promise<void>): Promise<void> {
  const { sql } = await import('kysely')
  const db: Tables = connection.tables()
  // SQLite ignores this within a transaction; it has one connection.
  if (!mysql) await sql`pragma foreign_keys = off`.execute(db)
  try {
    await db.transaction().execute(async (transaction) => {
      if (mysql) await sql`set session foreign_key_checks = 0`.execute(transaction)
      try {
        await work((query) => transaction.executeQuery(query))
      } finally {
        if (mysql) await sql`set session foreign_key_checks = 1`.execute(transaction)
      }
    })
  } finally {
    if (!mysql) await sql`pragma foreign_keys = on`.execute(db)
  }
}
