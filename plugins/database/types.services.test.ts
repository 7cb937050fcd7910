import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import type { ProxyClient } from 'zin/clients'
import { onMysql } from '../../scripts/testing/mysql-database.js'
import fc from '../../scripts/testing/properties.js'
import { type ColumnType, columnTypes, type Dialect } from './testing/column-types.js'
import { allConnections, type TestConnection } from './testing/connections.js'
import { drizzleMysqlColumns, drizzleSqliteColumns } from './testing/drizzle-columns.js'
import { mysqlDrizzleTable, sqliteDrizzleTable } from './testing/drizzle-tables.js'
import { areComplete, kyselyTypes } from './testing/kysely-types.js'
import { oddValues, outcomeOf } from './testing/odd-values.js'
import { documentedTypes, kindOf, kindsInWords, typeText } from './testing/type-table.js'

const dialects: readonly Dialect[] = ['sqlite', 'mysql']
/** D1 takes so many parameters in a statement. */
const maxParameters = 100
const namesOf = ({ name, aliases = [] }: ColumnType): readonly string[] => [name, ...aliases]
const isOn = ({ on = dialects }: ColumnType, dialect: Dialect): boolean => on.includes(dialect)
type Listed = Pick<ColumnType, 'values' | 'edges' | 'isKey'>
const columnOf = (type: string): string => `c_${type.replaceAll(/\W/g, '_')}`
/** Lists of values for one statement: the edges, null, and random ones; for a key, different ones only. */
function listsOf({ values, edges = [], isKey = false }: Listed, perValue: number): fc.Arbitrary<readonly unknown[]> {
  const fixed = isKey ? edges : [...edges, null]
  const maxLength = Math.min(12, Math.floor(maxParameters / perValue) - fixed.length)
  const lists = fc.array(values, { minLength: Math.min(5, maxLength), maxLength })
  return lists.map((list) => (isKey ? [...new Set([...fixed, ...list])] : [...fixed, ...list]))
}

const drizzle = [
  { dialect: 'mysql', proxy: 'rdb', table: mysqlDrizzleTable(), columns: drizzleMysqlColumns },
  { dialect: 'sqlite', proxy: 'edge', table: sqliteDrizzleTable(), columns: drizzleSqliteColumns },
] as const

/** The kinds of values that were read, by column. */
const found = new Map<string, Set<string>>()
const see = (key: string, values: readonly unknown[]): void => {
  const kinds = found.get(key) ?? new Set()
  found.set(key, kinds)
  for (const value of values) if (value !== null) kinds.add(kindOf(value))
}

/** Rows of the table of odd values. */
const outcomes: (readonly string[])[] = []

/** Further rows of the table: what is read of `expression`, which has no column. */
const expressions = [
  { name: '`count(*)`', expression: 'count(*)', note: '' },
  { name: '`sum` of integers', expression: 'sum(n)', note: 'A decimal in MySQL and MariaDB' },
  { name: '`max` of a `bigint`', expression: 'max(b)', note: '' },
  { name: 'a comparison', expression: 'max(n) > 1', note: '' },
]

describe('a column has the same values on every connection:', () => {
  const steps: (() => unknown)[] = []
  let connections: readonly TestConnection[] = []
  let run = 0

  before(async () => {
    connections = await allConnections((step) => steps.push(step))
    for (const { database, dialect } of connections) {
      const columns = columnTypes.filter((type) => isOn(type, dialect)).flatMap(namesOf)
      const list = sql.join(columns.map((type) => sql`${sql.ref(columnOf(type))} ${sql.raw(type)}`))
      await sql`create table ${sql.table(tableOf(database))} (run int, n int, ${list})`.execute(database.tables())
    }
    for (const { proxy, table } of drizzle) await table.create(clientOf(proxy))
  })
  after(async () => {
    for (const step of steps.toReversed()) await step()
  })

  const clientOf = (proxy: ProxyClient['proxy']): ProxyClient => {
    const client = connections.find((one) => one.client?.proxy === proxy)?.client
    assert.ok(client)
    return client
  }
  const tableOf = (database: TestConnection['database']): string => `types_${connections.findIndex((one) => one.database === database)}`

  /** Writes values to columns with Kysely, and returns them as they are read with it. */
  async function throughTable({ database }: TestConnection, types: readonly string[], values: readonly unknown[]) {
    const table = tableOf(database)
    const columns = types.map(columnOf)
    const current = ++run
    const tables = database.tables()
    const rows = values.map((value, n) => ({ run: current, n, ...Object.fromEntries(columns.map((column) => [column, value])) }))
    const query = tables.selectFrom(table).select(columns).where('run', '=', current).orderBy('n')
    const [, batch] = await database.batch([tables.insertInto(table).values(rows), query])
    return { batch: batch?.rows, query: await query.execute() }
  }

  for (const type of columnTypes) {
    it(type.name, async () => {
      const names = namesOf(type)
      const { read = (value: unknown) => value, isKey = false } = type
      const through = async (connection: TestConnection): Promise<void> => {
        const { dialect, database, client } = connection
        const property = fc.asyncProperty(listsOf(type, 2 + names.length), async (list) => {
          if (isKey) await database.tables().deleteFrom(tableOf(database)).execute()
          const expected = list.map((value) => (value === null ? null : read(value, dialect, client !== undefined)))
          const rows = expected.map((value) => Object.fromEntries(names.map((name) => [columnOf(name), value])))
          for (const [way, found] of Object.entries(await throughTable(connection, names, list)))
            assert.deepEqual(found, rows, `${connection.name}, ${way}`)
          see(`${dialect} ${type.name}`, expected)
        })
        await fc.assert(property, { numRuns: 1 })
      }
      await Promise.all(connections.filter(({ dialect }) => isOn(type, dialect)).map(through))
    })
  }

  it('read with SQL, in a stream, and with the client of the proxy', async () => {
    for (const { name, database, client } of connections) {
      const tables = database.tables()
      const query = tables.selectFrom(tableOf(database)).selectAll().orderBy('run').orderBy('n')
      const rows = await query.execute()
      assert.ok(rows.length > 200, name)
      const text = `select * from ${tableOf(database)} order by run, n`
      assert.deepEqual((await sql.raw(text).execute(tables)).rows, rows, name)
      if (client) assert.deepEqual((await client.query(text)).rows, rows, name)
      if (client?.proxy === 'edge') continue
      const streamed: unknown[] = []
      for await (const row of query.stream()) streamed.push(row)
      assert.deepEqual(streamed, rows, name)
    }
  })

  it('an expression', async () => {
    const from = sql`from (select 1 as n, 9007199254740993 as b union all select 2, 5) as t`
    for (const { dialect, database, name } of connections) {
      const asked = expressions.map(({ expression }, index) => sql`${sql.raw(expression)} as ${sql.ref(`e${index}`)}`)
      const { rows } = await sql<Record<string, unknown>>`select ${sql.join(asked)} ${from}`.execute(database.tables())
      const values = Object.values(rows[0] ?? {})
      assert.deepEqual(values, [2, dialect === 'sqlite' ? 3 : '3', 9007199254740993n, 1], name)
      for (const [index, { name }] of expressions.entries()) see(`${dialect} ${name}`, [values[index]])
    }
  })

  for (const { dialect, proxy, table, columns } of drizzle) {
    for (const [index, column] of columns.entries()) {
      it(`${column.name} of drizzle on ${dialect}`, async () => {
        const { read = (value: unknown) => value } = column
        const property = fc.asyncProperty(listsOf(column, 2), async (list) => {
          const expected = list.map((value) => (value === null ? null : read(value as never)))
          assert.deepEqual(await table.through(clientOf(proxy), index, list), expected)
          see(`drizzle ${dialect} ${column.name}`, expected)
        })
        await fc.assert(property, { numRuns: 1 })
      })
    }
  }

  it('in a response: an integer beyond 2^53 is the text of its digits, and bytes are sent as they are', async () => {
    for (const { name, host } of connections) {
      const row = await host.inject({ path: '/row' })
      assert.equal(row.text, '{"small":5,"big":"9007199254740993","time":"2024-02-29 23:59:59"}', name)
      const bytes = await host.inject({ path: '/bytes' })
      assert.deepEqual([bytes.headers['content-type'], [...bytes.bytes]], ['application/octet-stream', [0, 255, 128]], name)
    }
  })

  it('a value that not every database can store', async () => {
    for (const { name, value, column } of oddValues) {
      const cells = await Promise.all(
        connections.map(async (connection) => {
          const { database, dialect } = connection
          const [table, into] = [tableOf(database), columnOf(column[dialect])]
          const current = ++run
          const insert = database
            .tables()
            .insertInto(table)
            .values({ run: current, n: 0, [into]: value })
          const select = database.tables().selectFrom(table).select(into).where('run', '=', current)
          const inQueries = await outcomeOf(value, async () => {
            await insert.execute()
            return (await select.execute())[0]?.[into]
          })
          const inBatch = await outcomeOf(value, async () => {
            const [, read] = await database.batch([insert, select])
            return (read?.rows[0] as Readonly<Record<string, unknown>>)[into]
          })
          assert.equal(inBatch, inQueries, connection.name)
          return inQueries
        }),
      )
      outcomes.push([name, ...cells])
    }
  })
})

describe('the table of types', () => {
  const code = (name: string): string => `\`${name}\``

  it('has every type of Kysely and every column of drizzle', () => {
    assert.ok(areComplete)
    const names = columnTypes.flatMap(namesOf)
    assert.deepEqual(
      kyselyTypes.filter((type) => !names.some((name) => name === type || name.startsWith(`${type}(`))),
      [],
    )
    for (const { table, columns } of drizzle) {
      const known = columns.map(({ name }) => name.replace(/\(.*/, ''))
      assert.deepEqual([...new Set(known)].toSorted(), table.functions.toSorted())
    }
  })

  // It is that of MariaDB.
  if (!onMysql)
    it('is in the README, as these tests found it', () => {
      const cell = (key: string): string => kindsInWords(found.get(key))
      const drizzleRows = (dialect: Dialect, columns: readonly { readonly name: string; readonly note?: string }[]) =>
        columns.map(({ name, note = '' }) => [code(name), cell(`drizzle ${dialect} ${name}`), note])
      const made = typeText({
        columns: [
          ...columnTypes.map((type) => {
            const { name, aliases = [], note = '' } = type
            return [code(name), aliases.map(code).join(', '), cell(`sqlite ${name}`), cell(`mysql ${name}`), note]
          }),
          ...expressions.map(({ name, note }) => [name, '', cell(`sqlite ${name}`), cell(`mysql ${name}`), note]),
        ],
        drizzleMysql: drizzleRows('mysql', drizzleMysqlColumns),
        drizzleSqlite: drizzleRows('sqlite', drizzleSqliteColumns),
        values: outcomes,
      })
      assert.equal(documentedTypes(made), made, 'run TYPES_TABLE=write npm test -- plugins/database/types')
    })
})
