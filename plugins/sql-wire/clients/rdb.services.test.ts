import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { eq, gt, sql as raw } from 'drizzle-orm'
import { bigint, boolean, datetime, decimal, int, json, mysqlTable, timestamp, varchar } from 'drizzle-orm/mysql-core'
import { drizzle } from 'drizzle-orm/mysql-proxy'
import { Kysely, MysqlDialect, sql } from 'kysely'
import {
  createProxyClient,
  drizzleMigrations,
  drizzleMysql,
  kyselyMysql,
  type ProxyClient,
  type ProxyClientOptions,
  ProxyError,
} from 'zin/clients'
import { rdbProxy } from 'zin/plugins/rdb-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { mysqlDatabase, numbersTo } from '../../../scripts/testing/mysql-database.js'
import { lostResponses } from './lost-responses.contract.js'

const secret = randomUUID()
const store = mysqlDatabase('clients')
let host: TestHost
const clientOf = (more: Partial<ProxyClientOptions> = {}): ProxyClient =>
  createProxyClient({ url: host.url, proxy: 'rdb', keyId: 'test', secret, ...more })

before(async () => {
  await store.create()
  const env = { ...store.env, RDB_PROXY_KEY_ID: 'test', RDB_PROXY_SECRET: secret, RDB_PROXY_TRANSACTIONS: 'true' }
  host = await createTestHost({ plugins: [rdbProxy()], env, listen: true })
})
after(async () => {
  await host.stop()
  await store.drop()
})

describe('a client of the relational proxy', () => {
  it('reads back values of every type', async () => {
    const client = clientOf()
    await client.exec(
      'create table kinds (big bigint, ubig bigint unsigned, amount decimal(40,10), small int, f double, d date, t time(6), at datetime(6), bytes varbinary(20), note text, doc json, flags bit(10))',
    )
    const row = {
      big: -(2n ** 63n),
      ubig: 2n ** 64n - 1n,
      amount: '123456789012345678901234567890.0123456789',
      small: -7,
      f: 0.1,
      d: '2024-02-29',
      t: '-838:59:59.000000',
      at: '2024-02-29 23:59:59.123456',
      bytes: new Uint8Array([0, 255, 192, 128]),
      note: 'ünïcode 🎈',
      doc: '{"a": 12345678901234567890}',
      flags: new Uint8Array([2, 1]),
    }
    const tagged = { ...row, amount: { $type: 'decimal', value: row.amount }, d: { $type: 'date', value: row.d } } as const
    await client.exec(`insert into kinds values (${Object.keys(row).fill('?').join(', ')})`, Object.values(tagged))
    assert.deepEqual(await client.queryOne('select * from kinds'), row)
    const text = await clientOf({ int64: 'string' }).query('select big, big as big from kinds', [], { rowMode: 'array' })
    assert.deepEqual(text.rows, [['-9223372036854775808', '-9223372036854775808']])
    const at = new Date(1_709_251_199_123)
    assert.deepEqual(await client.queryOne('select cast(? as datetime(3)) as at', [at]), { at: '2024-02-29 23:59:59.123' })
  })

  it('streams more rows than fit in a response, and ends the query with the loop', async () => {
    const client = clientOf()
    await assert.rejects(client.query(`select seq from ${numbersTo(20_000)}`), { code: 'RESULT_TOO_LARGE' })
    let sum = 0
    for await (const { seq } of client.stream<{ seq: number }>(`select seq from ${numbersTo(20_000)}`)) sum += seq
    assert.equal(sum, 200_010_000)
    for await (const _ of client.stream(`select seq as many from ${numbersTo(10_000_000)}`)) break
    const running = 'select 1 as n from information_schema.processlist where info like ?'
    await eventually('the query has ended', async () => (await client.query(running, ['select seq as many%'])).rows.length === 0)
    await assert.rejects(client.stream('select nothing').next(), { code: 'SQL_ERROR' })
  })

  lostResponses(clientOf, 'varchar(20)')

  it('keeps a transaction isolated until it ends, and ends it at the first error', async () => {
    const client = clientOf()
    await client.exec('create table held (id int primary key)')
    const count = async () => (await client.queryOne<{ n: number }>('select count(*) as n from held'))?.n
    const first = await client.begin({ isolation: 'read committed' })
    await Promise.all([first.exec('insert into held values (1)'), first.exec('insert into held values (2)')])
    assert.deepEqual((await first.query('select id from held order by id')).rows, [{ id: 1 }, { id: 2 }])
    assert.equal(await count(), 0)
    await first.commit()
    assert.equal(await count(), 2)
    await assert.rejects(first.exec('insert into held values (3)'), { code: 'TX_ENDED' })
    const second = await client.begin()
    await second.exec('insert into held values (4)')
    await assert.rejects(second.exec('insert into held values (1)'), { code: 'CONSTRAINT_VIOLATION' })
    assert.equal(second.open, false)
    await second.rollback()
    assert.equal(await count(), 2)
  })

  it('ends a transaction also when the proxy refuses a statement: its locks do not outlive the call', async () => {
    const client = clientOf()
    await client.exec('create table refused (id int primary key)')
    const tooLong = `insert into refused values (3) /* ${'x'.repeat(40_000)} */`
    for (const sql of ['commit', 'truncate table refused', 'insert into refused values (?)', 'select 1; select 2', tooLong]) {
      const transaction = await client.begin()
      await transaction.exec('insert into refused values (1)')
      await assert.rejects(transaction.exec(sql), ProxyError, sql.slice(0, 30))
      assert.equal(transaction.open, false)
      // Would wait for the lock of a transaction that is still open.
      await client.exec('insert into refused values (1)', [], { timeoutMs: 2_000 })
      await client.exec('delete from refused')
    }
  })
})

describe('Kysely through the relational proxy', () => {
  interface Tables {
    readonly people: { readonly id: string; readonly name: string; readonly age: number | null; readonly at: number | bigint }
    readonly visits: { readonly id: number; readonly person: string; readonly ms: number }
  }

  it('runs a schema, its queries, transactions and streams', async () => {
    const db = new Kysely<Tables>({ dialect: kyselyMysql(clientOf(), MysqlDialect) })
    await db.schema
      .createTable('people')
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('name', 'varchar(100)', (column) => column.notNull().unique())
      .addColumn('age', 'integer')
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('visits')
      .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
      .addColumn('person', 'varchar(36)', (column) => column.references('people.id'))
      .addColumn('ms', 'integer')
      .execute()
    await db
      .insertInto('people')
      .values([
        { id: 'a', name: 'Ada', age: 36, at: 2n ** 60n },
        { id: 'b', name: 'Bob', age: null, at: Date.UTC(2024, 1, 29) },
      ])
      .execute()
    const visit = await db
      .insertInto('visits')
      .columns(['person', 'ms'])
      .expression(db.selectFrom('people').select(['id', 'age']).where('id', '=', 'a'))
      .executeTakeFirst()
    assert.deepEqual([visit.insertId, visit.numInsertedOrUpdatedRows], [1n, 1n])
    const joined = db
      .selectFrom('people')
      .leftJoin('visits', 'visits.person', 'people.id')
      .select(['people.name', 'at', 'ms'])
      .orderBy('name')
    assert.deepEqual(await joined.execute(), [
      { name: 'Ada', at: 2n ** 60n, ms: 36 },
      { name: 'Bob', at: Date.UTC(2024, 1, 29), ms: null },
    ])
    const updated = await db.updateTable('people').set({ age: 36 }).executeTakeFirst()
    assert.deepEqual([updated.numUpdatedRows, updated.numChangedRows], [2n, 1n])
    await assert.rejects(
      db.transaction().execute(async (tx) => {
        await tx.insertInto('people').values({ id: 'c', name: 'Cy', age: 1, at: 0 }).execute()
        throw new Error('no')
      }),
      { message: 'no' },
    )
    await db
      .transaction()
      .setIsolationLevel('serializable')
      .execute((tx) => tx.insertInto('people').values({ id: 'd', name: 'Di', age: 2, at: 0 }).execute())
    const names: string[] = []
    for await (const { name } of db.selectFrom('people').select('name').orderBy('name').stream()) names.push(name)
    assert.deepEqual(names, ['Ada', 'Bob', 'Di'])
    const { rows } = await sql<{ n: number }>`with old as (select * from people where age >= ${36}) select count(*) as n from old`.execute(
      db,
    )
    assert.deepEqual(rows, [{ n: 2 }])
    await assert.rejects(db.insertInto('people').values({ id: 'e', name: 'Ada', age: 1, at: 0 }).execute(), {
      code: 'CONSTRAINT_VIOLATION',
    })
    await db.destroy()
  })
})

describe('drizzle through the relational proxy', () => {
  const books = mysqlTable('books', {
    id: int('id').primaryKey().autoincrement(),
    title: varchar('title', { length: 100 }).notNull(),
    sold: bigint('sold', { mode: 'bigint' }),
    price: decimal('price', { precision: 20, scale: 4 }),
    fresh: boolean('fresh').notNull().default(true),
    at: datetime('at', { fsp: 3 }),
    seen: timestamp('seen'),
    tags: json('tags').$type<readonly string[]>(),
  })

  it('runs a schema and its queries', async () => {
    const client = clientOf()
    const db = drizzle(drizzleMysql(client), { schema: { books }, mode: 'default' } as object)
    await drizzleMigrations(client)([
      'create table books (id int auto_increment primary key, title varchar(100) not null, sold bigint, price decimal(20,4), fresh boolean not null default true, at datetime(3), seen timestamp null, tags json)',
      'create index books_title on books (title)',
    ])
    const at = new Date(1_709_251_199_123)
    const seen = new Date(1_709_251_199_000)
    const ids = await db
      .insert(books)
      .values([{ title: 'One', sold: 2n ** 62n, price: '1234567890123456.1234', at, seen, tags: ['x'] }, { title: 'Two' }])
      .$returningId()
    assert.deepEqual(ids, [{ id: 1 }, { id: 2 }])
    const [first, second] = await db.select().from(books).orderBy(books.id)
    assert.deepEqual(first, { id: 1, title: 'One', sold: 2n ** 62n, price: '1234567890123456.1234', fresh: true, at, seen, tags: ['x'] })
    assert.deepEqual([second?.sold, second?.at, second?.tags], [null, null, null])
    const [changed] = (await db.update(books).set({ fresh: false }).where(eq(books.id, 2))) as unknown as [{ affectedRows: number }]
    assert.equal(changed.affectedRows, 1)
    const [counted] = (await db.execute(raw`select count(*) as n from books where sold > ${5n}`)) as unknown as [unknown]
    assert.deepEqual(counted, [{ n: 1 }])
    assert.deepEqual(await db.select({ title: books.title }).from(books).where(gt(books.sold, 1n)), [{ title: 'One' }])
    await db.delete(books).where(eq(books.id, 1))
    assert.equal(await db.$count(books), 1)
  })
})
