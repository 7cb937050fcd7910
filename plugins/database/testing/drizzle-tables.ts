import { asc, eq } from 'drizzle-orm'
import { int, mysqlTable } from 'drizzle-orm/mysql-core'
import { drizzle as mysqlProxy } from 'drizzle-orm/mysql-proxy'
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core'
import { drizzle as sqliteProxy } from 'drizzle-orm/sqlite-proxy'
import { drizzleMysql, drizzleSqlite, type ProxyClient } from 'zin/clients'
import { drizzleMysqlColumns, drizzleSqliteColumns } from './drizzle-columns.js'

/** A table of drizzle with a column for each case, by its index. */
export interface DrizzleTable {
  /** The functions of drizzle that make a column. */
  readonly functions: readonly string[]
  create(client: ProxyClient): Promise<void>
  /** Writes values to a column of new rows, and returns what is read of them. */
  through(client: ProxyClient, column: number, values: readonly unknown[]): Promise<readonly unknown[]>
}

const nameOf = (index: number): string => `c${index}`
const valuesOf = (rows: readonly { readonly value: unknown }[]): readonly unknown[] => rows.map(({ value }) => value)

function createSql(columns: Readonly<Record<string, { getSQLType(): string }>>): string {
  const list = Object.entries(columns).map(([name, column]) => `${name} ${column.getSQLType()}`)
  return `create table drizzle (${list.join(', ')})`
}

export function mysqlDrizzleTable(): DrizzleTable {
  let functions: readonly string[] = []
  let runs = 0
  const table = mysqlTable('drizzle', (columns) => {
    functions = Object.keys(columns)
    return { run: int(), n: int(), ...Object.fromEntries(drizzleMysqlColumns.map(({ make }, index) => [nameOf(index), make(columns)])) }
  })
  const { run, n, ...cases } = table
  const columns = cases as unknown as Readonly<Record<string, typeof n>>
  return {
    functions,
    async create(client) {
      await client.exec(createSql({ run, n, ...columns }))
    },
    async through(client, index, values) {
      const db = mysqlProxy(drizzleMysql(client))
      const [name, current] = [nameOf(index), ++runs]
      // A column that counts is a key.
      if (drizzleMysqlColumns[index]?.isKey) await db.delete(table)
      await db.insert(table).values(values.map((value, at) => ({ run: current, n: at, [name]: value })) as never)
      return valuesOf(
        await db
          .select({ value: columns[name] as typeof n })
          .from(table)
          .where(eq(run, current))
          .orderBy(asc(n)),
      )
    },
  }
}

export function sqliteDrizzleTable(): DrizzleTable {
  let functions: readonly string[] = []
  let runs = 0
  const table = sqliteTable('drizzle', (columns) => {
    functions = Object.keys(columns)
    return {
      run: integer(),
      n: integer(),
      ...Object.fromEntries(drizzleSqliteColumns.map(({ make }, index) => [nameOf(index), make(columns)])),
    }
  })
  const { run, n, ...cases } = table
  const columns = cases as unknown as Readonly<Record<string, typeof n>>
  return {
    functions,
    async create(client) {
      await client.exec(createSql({ run, n, ...columns }))
    },
    async through(client, index, values) {
      const db = sqliteProxy(...drizzleSqlite(client))
      const [name, current] = [nameOf(index), ++runs]
      const [, read] = await db.batch([
        db.insert(table).values(values.map((value, at) => ({ run: current, n: at, [name]: value })) as never),
        db
          .select({ value: columns[name] as typeof n })
          .from(table)
          .where(eq(run, current))
          .orderBy(asc(n)),
      ])
      return valuesOf(read)
    },
  }
}
