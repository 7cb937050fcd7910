import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { type Database, database, databaseService } from 'zin/plugins/database'
import { createTestHost } from 'zin/testing'
import { onMysql } from '../../scripts/testing/mysql-database.js'
import { type MysqlServer, mysqlServer } from '../../scripts/testing/mysql-server.js'
import fc from '../../scripts/testing/properties.js'

/** Settings of an administrator, which decide how the server reads statements. */
const modes: Readonly<Record<string, readonly string[]>> = {
  'its defaults': [],
  NO_BACKSLASH_ESCAPES: ["sql_mode = 'NO_BACKSLASH_ESCAPES'"],
  'ANSI_QUOTES and no strictness': ["sql_mode = 'ANSI_QUOTES'"],
  PIPES_AS_CONCAT: ["sql_mode = 'PIPES_AS_CONCAT,ANSI,NO_BACKSLASH_ESCAPES'"],
  'big5 by default': ['character_set_server = big5', "init_connect = 'SET NAMES big5'"],
  'gbk by default': ['character_set_server = gbk', "init_connect = 'SET NAMES gbk'"],
  'another time zone, isolation and autocommit': [
    "time_zone = '+09:00'",
    "init_connect = 'set session autocommit = 0, session time_zone = ''-05:00'''",
  ],
}

/** Texts that change a statement if a server reads them otherwise than the driver writes them. */
const parts = fc.constantFrom(
  "'",
  '"',
  '\\',
  "\\'",
  "''",
  '`',
  '?',
  ':a',
  '--',
  '-- ',
  '#',
  '/*',
  '*/',
  ';',
  '%',
  '_',
  '\n',
  '\r',
  '\u001a',
  '\u00bf',
  '\u5c0f',
  '許',
  '功',
  '\u{1f600}',
  "\u00bf'",
  'or 1 = 1',
  '||',
  '\\0',
  '\t',
)
const texts = fc.oneof(
  fc.array(fc.oneof(parts, fc.string({ unit: 'grapheme', maxLength: 3 })), { maxLength: 8 }).map((some) => some.join('')),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
)
const perMode = 750

/** Drops a table, a user or a procedure, and creates it. MySQL has no CREATE OR REPLACE for them. */
async function recreate(tables: ReturnType<Database['tables']>, what: string, definition: string): Promise<void> {
  await sql.raw(`drop ${what.replace(' ', ' if exists ')}`).execute(tables)
  await sql.raw(`create ${what} ${definition}`).execute(tables)
}

const atOnce = 25

describe('parameters on a server that an administrator has set to', () => {
  let server: MysqlServer
  before(async () => {
    server = await mysqlServer()
  })
  after(() => server.stop())

  it('has no column that is no field of an object: 400, and the connection goes on', async (t) => {
    const host = await createTestHost({ plugins: [database()], env: server.env })
    t.after(() => host.stop())
    const tables = host.service(databaseService).tables()
    for (const column of ['__proto__', 'toString', 'constructor']) {
      const asked = sql<Record<string, unknown>>`select 1 as ${sql.ref(column)}`.execute(tables)
      const found = await asked.then(
        ({ rows }) => Object.entries(rows[0] ?? {}),
        (error: { readonly code?: string; readonly status?: number }) => [error.code, error.status],
      )
      assert.ok(
        JSON.stringify(found) === JSON.stringify([[column, 1]]) || found.join() === 'DATABASE_COLUMN,400',
        `${column}: ${JSON.stringify(found)}`,
      )
      assert.deepEqual((await sql`select 1 as a`.execute(tables)).rows, [{ a: 1 }])
    }
    await assert.rejects(sql`select 1 as ${sql.ref('__proto__')}`.execute(tables), {
      code: 'DATABASE_COLUMN',
      message: /named "__proto__"/,
    })
  })

  it('takes no list or object as a parameter, which the driver would write as SQL, and no number that is not finite', async (t) => {
    const host = await createTestHost({ plugins: [database()], env: server.env })
    t.after(() => host.stop())
    const tables = host.service(databaseService).tables()
    await recreate(tables, 'table people', '(name varchar(20), password varchar(20), made datetime(3), bytes blob)')
    await sql`insert into people values (${'ann'}, ${'secret'}, ${new Date(0)}, ${new Uint8Array([1, 255])})`.execute(tables)
    const log = (given: unknown) => sql`select name from people where name = 'ann' and password = ${given}`.execute(tables)
    for (const given of [
      { password: 1 },
      ['secret', 'x'],
      [['secret']],
      { toString: () => 'x' },
      undefined,
      Symbol('x'),
      new Map(),
      new Date(NaN),
    ])
      await assert.rejects(log(given), { code: 'DATABASE_VALUE', status: 500 }, String(typeof given))
    for (const given of [Infinity, -Infinity, NaN]) await assert.rejects(log(given), { code: 'DATABASE_NUMBER', status: 400 })
    assert.deepEqual((await log('secret')).rows, [{ name: 'ann' }])
    const { rows } = await sql<{ made: string; bytes: Uint8Array }>`select made, bytes from people`.execute(tables)
    assert.deepEqual(rows, [{ made: '1970-01-01 00:00:00.000', bytes: Uint8Array.of(1, 255) }])
  })

  /** An app whose pool has one connection, and a statement whose parameter is SQL to a server that reads backslashes otherwise. */
  const oneConnection = async () => {
    const host = await createTestHost({ plugins: [database()], env: { ...server.env, DB_POOL_LIMIT: '1' } })
    const tables = host.service(databaseService).tables()
    await recreate(tables, 'table pairs', '(name varchar(20), secret varchar(20))')
    await sql`insert into pairs values ('ann', 'a'), ('bob', 'b')`.execute(tables)
    const injected = async () => (await sql`select name from pairs where name = ${"\\' or 1 = 1 -- "}`.execute(tables)).rows
    return { host, tables, injected }
  }

  it('change no statement after another statement of the app made the server read them otherwise, which fails', async (t) => {
    const { host, injected, tables } = await oneConnection()
    t.after(() => host.stop())
    for (const text of [
      "set session sql_mode = 'NO_BACKSLASH_ESCAPES'",
      "set @@sql_mode = concat(@@sql_mode, ',NO_BACKSLASH_ESCAPES')",
      ...(onMysql ? [] : ["set session sql_mode = 'ORACLE,NO_BACKSLASH_ESCAPES', @a = 1"]),
      'set names gbk',
      '/* a comment */ set @@character_set_client = gbk',
      'set names big5',
      'set character set latin1',
      "/*! set @@sql_mode = 'NO_BACKSLASH_ESCAPES', @leak = '*/ commit ' */",
      '/*! set @@character_set_client = gbk */',
      ...(onMysql
        ? []
        : [
            "execute immediate 'set names sjis'",
            'begin not atomic set names gbk; end',
            'begin not atomic set @@character_set_client = gbk; end',
          ]),
    ]) {
      await assert.rejects(sql.raw(text).execute(tables), { code: 'DATABASE_SESSION_CHANGED', status: 500 }, text)
      assert.deepEqual(await injected(), [], text)
      await assert.rejects(
        tables.connection().execute(async (one) => {
          await sql
            .raw(text)
            .execute(one)
            .catch(() => undefined)
          await sql`select name from pairs where name = ${"\\' or 1 = 1 -- "}`.execute(one)
        }),
        { code: 'DATABASE_SESSION_CHANGED' },
      )
    }
  })

  it('and whatever else a statement leaves in its session are not those of the next one', async (t) => {
    const { host, tables } = await oneConnection()
    t.after(() => host.stop())
    const inTransaction = sql.raw(
      onMysql
        ? '(select count(*) from information_schema.innodb_trx where trx_mysql_thread_id = connection_id() and trx_autocommit_non_locking = 0)'
        : '@@in_transaction',
    )
    const state = async () => {
      const text = sql<object>`select @@sql_mode as mode, @@foreign_key_checks as checks, @x as x, database() as db, @@autocommit as auto, @@character_set_results as charset,
        ${inTransaction} as open, (select count(*) from pairs) as pairs`
      return (await text.execute(tables)).rows
    }
    await recreate(tables, 'procedure renames', '() begin select 1; set names gbk; end')
    await recreate(tables, 'procedure fails', "() begin set @x = 'of a call'; signal sqlstate '45000'; end")
    const clean = await state()
    for (const text of [
      "set session sql_mode = 'ANSI_QUOTES'",
      'set foreign_key_checks = 0',
      'set @@foreign_key_checks = 0',
      "set @x = 'of another request'",
      'use information_schema',
      'set autocommit = 0',
      'set sql_select_limit = 0',
      'lock tables pairs as p read',
      'begin',
      'call renames()',
      'call fails()',
      '/*! create temporary table pairs select 1 as n */',
      'create temporary table pairs (name varchar(20))',
    ]) {
      const ran = sql.raw(text).execute(tables)
      await (text === 'call fails()' ? assert.rejects(ran) : ran)
      assert.deepEqual(await state(), clean, text)
    }
    const streamed = tables.getExecutor().stream(sql.raw('set @x = 1').compile(tables), 1)
    for await (const _ of streamed);
    assert.deepEqual(await state(), clean)
  })

  it('leave a transaction the access mode and the isolation that it was given, and the next one those of the connection', async (t) => {
    const { host, tables } = await oneConnection()
    t.after(() => host.stop())
    const connection = async () => (await sql<object>`select connection_id() as id`.execute(tables)).rows
    const before = await connection()
    const readOnly = tables.transaction().setAccessMode('read only')
    const add = (one: typeof tables) => sql`insert into pairs values ('eve', 'e')`.execute(one)
    await assert.rejects(readOnly.execute(add), { code: 'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION' })
    await tables.transaction().execute(add)
    // Reads of a serializable transaction lock their rows; those of others lock none.
    const other = await createTestHost({ plugins: [database()], env: server.env })
    t.after(() => other.stop())
    const takes = async () =>
      sql`select * from pairs for update nowait`.execute(other.service(databaseService).tables()).then(
        () => 'nothing is locked',
        (error: { readonly code?: string }) => error.code,
      )
    const during = (isolation: 'serializable' | 'repeatable read') =>
      tables
        .transaction()
        .setIsolationLevel(isolation)
        .execute(async (one) => {
          await sql`select * from pairs`.execute(one)
          return takes()
        })
    assert.deepEqual([await during('serializable'), await during('repeatable read')], ['DATABASE_UNAVAILABLE', 'nothing is locked'])
    // MySQL reports the end of such a transaction as a change of the session, as it does what the transaction changed.
    if (!onMysql) assert.deepEqual(await connection(), before)
    for (const text of ['set transaction read only', '/*! set transaction read only */']) {
      await tables.connection().execute(async (one) => {
        await sql.raw(text).execute(one)
        await sql`select 1`.execute(one)
      })
      await add(tables)
    }
  })

  for (const [mode, settings] of Object.entries(modes)) {
    it(`${mode}: come back as they were sent, and change no statement`, async (t) => {
      const admin = await createTestHost({ plugins: [database()], env: server.env })
      const command = async (one: string) => void (await sql.raw(`set global ${one}`).execute(admin.service(databaseService).tables()))
      t.after(async () => {
        for (const one of ['sql_mode = default', 'character_set_server = default', "init_connect = ''", 'time_zone = default'])
          await command(one)
        await admin.stop()
      })
      for (const one of settings) await command(one)
      // The server runs init_connect only for users without privileges of an administrator.
      const tablesOfAdmin = admin.service(databaseService).tables()
      await recreate(tablesOfAdmin, 'user app', "identified by 'app'")
      await sql`grant all on zin.* to app`.execute(tablesOfAdmin)
      const host = await createTestHost({ plugins: [database()], env: { ...server.env, DB_USERNAME: 'app', DB_PASSWORD: 'app' } })
      t.after(() => host.stop())
      const tables = host.service(databaseService).tables()
      const collation = onMysql ? 'utf8mb4_0900_bin' : 'utf8mb4_nopad_bin'
      await recreate(tables, 'table texts', `(id int primary key, word varchar(400) character set utf8mb4 collate ${collation})`)
      const words = fc.sample(texts, perMode)
      for (let from = 0; from < words.length; from += atOnce) {
        const some = words.slice(from, from + atOnce)
        const rows = sql.join(some.map((word, i) => sql`(${from + i}, ${word})`))
        await sql`insert into texts (id, word) values ${rows}`.execute(tables)
      }
      const { rows } = await sql<{ readonly id: number; readonly word: string }>`select id, word from texts order by id`.execute(tables)
      assert.deepEqual(
        rows.map(({ word }) => word),
        words,
      )
      for (const word of words.slice(0, 100)) {
        const found = await sql<{ readonly n: number; readonly w: string }>`select count(*) as n, ${word} as w from texts
          where word = ${word} and id >= 0 and ${'x'} = 'x'`.execute(tables)
        assert.deepEqual(
          found.rows.map(({ n, w }) => [Number(n), w]),
          [[words.filter((other) => other === word).length, word]],
        )
      }
      const [session] = (
        await sql<Record<string, unknown>>`select @@session.sql_mode as mode, @@session.time_zone as zone, @@session.autocommit as auto,
          @@session.character_set_client as charset, ${sql.raw(onMysql ? '@@session.transaction_isolation' : '@@session.tx_isolation')} as isolation`.execute(
          tables,
        )
      ).rows
      assert.deepEqual(
        { ...session, mode: String(session?.mode).split(',').toSorted() },
        {
          mode: ['ERROR_FOR_DIVISION_BY_ZERO', 'NO_ENGINE_SUBSTITUTION', 'STRICT_TRANS_TABLES'],
          zone: '+00:00',
          auto: 1,
          charset: 'utf8mb4',
          isolation: 'REPEATABLE-READ',
        },
      )
    })
  }
})
