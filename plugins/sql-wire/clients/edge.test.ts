import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { eq, gt, sql as raw } from 'drizzle-orm'
import { blob, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { Kysely, SqliteDialect, sql } from 'kysely'
import {
  createProxyClient,
  drizzleMigrations,
  drizzleSqlite,
  kyselySqlite,
  kyselyStatement,
  type ProxyClient,
  type ProxyClientOptions,
} from 'zin/clients'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { lostResponses } from './lost-responses.contract.js'

const secret = randomUUID()
let host: TestHost
const clientOf = (more: Partial<ProxyClientOptions> = {}): ProxyClient =>
  createProxyClient({ url: host.url, proxy: 'edge', keyId: 'test', secret, ...more })

before(async () => {
  const env = { EDGE_REMOTE_SECRET: secret, EDGE_REMOTE_MODE: 'sql', EDGE_RATE_PER_MINUTE: '0' }
  host = await createTestHost({ plugins: [edgeProxy()], env, listen: true })
})
after(() => host.stop())

describe('a client of the edge proxy', () => {
  it('reads back values of every type', async () => {
    const client = clientOf()
    await client.exec('create table kinds (id text primary key, value)')
    const values = [
      null,
      '',
      'ünïcode 🎈',
      1,
      -1.5,
      2 ** 53 - 1,
      2n ** 63n - 1n,
      -(2n ** 63n),
      1e300,
      new Uint8Array([0, 1, 255]),
      new Uint8Array(),
    ]
    for (const [index, value] of values.entries()) await client.exec('insert into kinds values (?, ?)', [`k${index}`, value])
    const { rows } = await client.query<{ value: unknown }>('select value from kinds order by cast(substr(id, 2) as integer)')
    assert.deepEqual(
      rows.map(({ value }) => value),
      values,
    )
    const strings = await clientOf({ int64: 'string' }).query('select value from kinds where id = ?', ['k6'], { rowMode: 'array' })
    assert.deepEqual(strings.rows, [['9223372036854775807']])
  })

  it('returns one row or none, the changes of a write, and the index of a failed statement', async () => {
    const client = clientOf()
    await client.exec('create table places (id integer primary key, name text unique)')
    const first = await client.exec('insert into places (name) values (?)', ['here'])
    assert.deepEqual([first.changes, first.lastInsertId], [1, 1n])
    assert.deepEqual(await client.queryOne('select name from places where id = ?', [1]), { name: 'here' })
    assert.equal(await client.queryOne('select name from places where id = ?', [2]), undefined)
    await assert.rejects(client.query('delete from places'), { code: 'READ_ONLY', status: 403 })
    const insert = (name: string) => ({ sql: 'insert into places (name) values (?)', params: [name] })
    await assert.rejects(client.transaction([insert('there'), insert('here')]), (error: { code: string; details: object }) => {
      assert.equal(error.code, 'CONSTRAINT_VIOLATION')
      assert.deepEqual([(error.details as { kind: string }).kind, (error.details as { failedIndex: number }).failedIndex], ['unique', 1])
      return true
    })
    const [, count] = await client.transaction([insert('there'), { sql: 'select count(*) as n from places' }])
    assert.deepEqual(count?.rows, [{ n: 2 }])
    await assert.rejects(client.begin(), { code: 'TX_NOT_SUPPORTED', message: /transaction\(\) or batch\(\)/ })
    await assert.rejects(client.stream('select 1').next(), { code: 'TX_NOT_SUPPORTED' })
  })

  lostResponses(clientOf, 'text')

  it('calls registered statements, and sends the hash of SQL', async () => {
    interface Statements {
      readonly 'note.add': { readonly kind: 'write'; readonly one: false; readonly params: readonly [id: string]; readonly row: never }
      readonly 'note.all': {
        readonly kind: 'read'
        readonly one: false
        readonly params: readonly []
        readonly row: { readonly id: string }
      }
    }
    const all = 'select id from notes order by id'
    const statements = {
      version: 1,
      hashIds: true,
      statements: {
        'note.make': { sql: 'create table notes (id text primary key)', kind: 'write' },
        'note.add': { sql: 'insert into notes (id) values (?)', kind: 'write', params: [{ name: 'id', type: 'text' }] },
        'note.all': { sql: all, kind: 'read' },
      },
    }
    const env = { EDGE_REMOTE_SECRET: secret, EDGE_STATEMENTS_JSON: JSON.stringify(statements) }
    const registry = await createTestHost({ plugins: [edgeProxy()], env, listen: true })
    try {
      const options = { url: registry.url, proxy: 'edge', keyId: 'test', secret } as const
      await createProxyClient(options).statement('note.make', [])
      const client = createProxyClient<Statements>(options)
      assert.equal((await client.statement('note.add', ['a'])).changes, 1)
      assert.deepEqual((await client.statement('note.all', [])).rows, [{ id: 'a' }])
      await assert.rejects(client.query(all), { code: 'SQL_MODE_DISABLED' })
      assert.deepEqual((await createProxyClient({ ...options, mode: 'registry' }).query(all)).rows, [{ id: 'a' }])
    } finally {
      await registry.stop()
    }
  })
})

describe('Kysely through the edge proxy', () => {
  interface Tables {
    readonly people: { readonly id: string; readonly name: string; readonly age: number | null; readonly at: number | bigint }
    readonly pets: { readonly id: string; readonly owner: string; readonly photo: Uint8Array | null }
  }

  it('runs a schema and its queries', async () => {
    const client = clientOf()
    const db = new Kysely<Tables>({ dialect: kyselySqlite(client, SqliteDialect) })
    await db.schema
      .createTable('people')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull().unique())
      .addColumn('age', 'integer')
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('pets')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('owner', 'text', (column) => column.references('people.id'))
      .addColumn('photo', 'blob')
      .execute()
    await db
      .insertInto('people')
      .values([
        { id: 'a', name: 'Ada', age: 36, at: 2n ** 60n },
        { id: 'b', name: 'Bob', age: null, at: Date.UTC(2024, 1, 29) },
      ])
      .execute()
    await db
      .insertInto('pets')
      .values({ id: 'p', owner: 'a', photo: new Uint8Array([1, 2]) })
      .execute()
    const joined = db
      .selectFrom('people')
      .leftJoin('pets', 'pets.owner', 'people.id')
      .select(['people.name', 'at', 'photo'])
      .orderBy('name')
    assert.deepEqual(await joined.execute(), [
      { name: 'Ada', at: 2n ** 60n, photo: new Uint8Array([1, 2]) },
      { name: 'Bob', at: Date.UTC(2024, 1, 29), photo: null },
    ])
    const updated = await db.updateTable('people').set({ age: 40 }).where('id', '=', 'b').executeTakeFirst()
    assert.equal(updated.numUpdatedRows, 1n)
    const returned = await db.insertInto('people').values({ id: 'c', name: 'Cy', age: 1, at: 0 }).returning(['id', 'age']).execute()
    assert.deepEqual(returned, [{ id: 'c', age: 1 }])
    const { rows } = await sql<{ n: number }>`with old as (select * from people where age >= ${36}) select count(*) as n from old`.execute(
      db,
    )
    assert.deepEqual(rows, [{ n: 2 }])
    const known = (await db.introspection.getTables()).filter(({ name }) => name.startsWith('pe'))
    assert.deepEqual(
      known.map(({ name, isView, columns }) => [
        name,
        isView,
        columns.map((column) => [column.name, column.dataType.toLowerCase(), column.isNullable]),
      ]),
      [
        [
          'people',
          false,
          [
            ['id', 'text', true],
            ['name', 'text', false],
            ['age', 'integer', true],
            ['at', 'bigint', false],
          ],
        ],
        [
          'pets',
          false,
          [
            ['id', 'text', true],
            ['owner', 'text', true],
            ['photo', 'blob', true],
          ],
        ],
      ],
    )
    await assert.rejects(
      db.transaction().execute(async () => undefined),
      { code: 'TX_NOT_SUPPORTED', message: /batch/ },
    )
    const both = [db.deleteFrom('pets').where('id', '=', 'p'), db.deleteFrom('people').where('id', '=', 'a')]
    const results = await client.transaction(both.map((query) => kyselyStatement(query.compile())))
    assert.deepEqual(
      results.map(({ changes }) => changes),
      [1, 1],
    )
    await db.destroy()
  })
})

describe('drizzle through the edge proxy', () => {
  const books = sqliteTable('books', {
    id: text('id').primaryKey(),
    title: text('title').notNull(),
    pages: integer('pages'),
    price: real('price'),
    sold: integer('sold', { mode: 'boolean' }).notNull().default(false),
    at: integer('at', { mode: 'timestamp_ms' }),
    cover: blob('cover', { mode: 'buffer' }),
    tags: text('tags', { mode: 'json' }).$type<readonly string[]>(),
  })

  it('runs a schema and its queries', async () => {
    const client = clientOf()
    const db = drizzle(...drizzleSqlite(client), { schema: { books } })
    await drizzleMigrations(client)([
      'create table books (id text primary key, title text not null, pages integer, price real, sold integer not null default 0, at integer, cover blob, tags text)',
      'create index books_title on books (title)',
    ])
    const at = new Date(1_709_251_199_123)
    await db.insert(books).values([
      { id: 'a', title: 'One', pages: 10, price: 1.25, sold: true, at, cover: Buffer.from([9, 8]), tags: ['x'] },
      { id: 'b', title: 'Two' },
    ])
    const [first, second] = await db.select().from(books).orderBy(books.id)
    assert.deepEqual(
      [first?.title, first?.pages, first?.price, first?.sold, first?.at, [...(first?.cover ?? [])], first?.tags],
      ['One', 10, 1.25, true, at, [9, 8], ['x']],
    )
    assert.deepEqual([second?.pages, second?.sold, second?.cover], [null, false, null])
    assert.equal((await db.query.books.findFirst({ where: eq(books.id, 'b') }))?.title, 'Two')
    assert.equal(await db.query.books.findFirst({ where: eq(books.id, 'none') }), undefined)
    assert.deepEqual(await db.update(books).set({ pages: 20 }).where(eq(books.id, 'b')).returning({ pages: books.pages }), [{ pages: 20 }])
    assert.deepEqual(await db.get(raw`select count(*) from books where pages > ${5}`), [2])
    const [inserted, found] = await db.batch([
      db.insert(books).values({ id: 'c', title: 'Three' }).returning({ id: books.id }),
      db.select({ title: books.title }).from(books).where(gt(books.pages, 15)),
    ])
    assert.deepEqual([inserted, found], [[{ id: 'c' }], [{ title: 'Two' }]])
    await assert.rejects(
      db.transaction(async () => undefined),
      (error: Error) => /db\.batch/.test(String(error.cause ?? error)),
    )
    await db.delete(books).where(eq(books.id, 'a'))
    assert.equal(await db.$count(books), 2)
  })
})
