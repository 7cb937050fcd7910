import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { type Connection, createConnection } from 'mysql2/promise'
import { database, databaseService } from 'zin/plugins/database'
import { health } from 'zin/plugins/health'
import { kv, kvService } from 'zin/plugins/kv'
import { rdbProxy } from 'zin/plugins/rdb-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { onMysql } from '../scripts/testing/mysql-database.js'
import { type MysqlServer, mysqlServer } from '../scripts/testing/mysql-server.js'
import { sessionSettings } from './database/connections/mysql-settings.js'
import { sendWire } from './sql-wire/testing/wire-client.js'
import { dbStore } from './workers/store/db.js'
import { stored } from './workers/testing/stored-worker.js'

/** What an administrator may have set globally, by the name of the setting. */
const hostile: Readonly<Record<string, readonly string[]>> = {
  autocommit: ['0'],
  session_track_state_change: ['0'],
  completion_type: ['1', '2'],
  default_storage_engine: ['MyISAM'],
  default_tmp_storage_engine: ['MyISAM'],
  foreign_key_checks: ['0'],
  unique_checks: ['0'],
  check_constraint_checks: ['0'],
  innodb_strict_mode: ['0'],
  explicit_defaults_for_timestamp: ['0'],
  sql_if_exists: ['1'],
  sql_safe_updates: ['1'],
  updatable_views_with_limit: ["'NO'"],
  sql_select_limit: ['0', '1'],
  max_recursive_iterations: ['2'],
  group_concat_max_len: ['4'],
  max_sort_length: ['64'],
  sql_auto_is_null: ['1'],
  div_precision_increment: ['0'],
  default_week_format: ['7'],
  lc_time_names: ["'de_DE'"],
  old_mode: ["'ZERO_DATE_TIME_CAST'"],
  default_regex_flags: ["'DOTALL'"],
  standard_compliant_cte: ['0'],
  system_versioning_asof: ["'2020-01-01 00:00:00'"],
  sql_quote_show_create: ['0'],
  sql_notes: ['0'],
  // Set by other means than the list.
  sql_mode: ["'ANSI,NO_BACKSLASH_ESCAPES'"],
  time_zone: ["'+09:00'"],
  [onMysql ? 'transaction_isolation' : 'tx_isolation']: ["'READ-UNCOMMITTED'"],
  [onMysql ? 'transaction_read_only' : 'tx_read_only']: ['1'],
}

/** What a statement returned: its rows, or the number of its error. */
type Outcome = readonly unknown[] | number | string

const long = 'x'.repeat(100)
/** Statements whose result depends on the settings; `$` begins the names of the tables. */
const statements: readonly string[] = [
  'create table $parents (id int primary key, n int, check (n < 100))',
  'create table $rows (id int auto_increment primary key, n int, word varchar(300), parent int, foreign key (parent) references $parents (id))',
  `insert into $rows (n, word) values (1, '${long}b'), (2, '${long}a'), (3, 'a\\nb')`,
  'select id from $rows where id is null',
  'select id from $rows order by word, id',
  "select id from $rows where word regexp 'a.b'",
  'insert into $rows (parent) values (77)',
  'insert into $parents values (1, 777)',
  'update $rows set n = n + 1',
  'create view $view as select n, word from $rows',
  "update $view set word = 'y' where n = 4 limit 1",
  'create table $stamps (id int, made timestamp)',
  "select column_name, column_default, extra, is_nullable from information_schema.columns where table_name = '$stamps' order by 1",
  'alter table $rows drop column nothing',
  'create table $odd (id int) key_block_size = 7 row_format = compressed',
  'create table $history (id int) with system versioning',
  'insert into $history values (1), (2)',
  'select count(*) as n from $history',
  'with recursive c (n) as (select 1 union all select n + 1 from c where n < 50) select count(*) as n from c',
  'with recursive c (n) as (select 1 union all select count(*) from c) select n from c limit 3',
  'select group_concat(id order by id) as ids from $rows',
  "select 1 / 3 as third, week('2027-01-03') as week, date_format('2026-03-01', '%M') as month",
  "select year(cast(time '10:00:00' as datetime)) > 2000 as today",
  'show create table $parents',
  "select table_name, engine from information_schema.tables where table_schema = 'zin' and table_name like '$%' and table_type <> 'VIEW' order by 1",
  'delete from $history',
  'select id, n, word from $rows order by id',
]

describe('global settings of a MariaDB server', () => {
  let server: MysqlServer
  let admin: Connection
  let usual: Awaited<ReturnType<typeof outcomes>>
  before(async () => {
    server = await mysqlServer()
    const { DB_PORT } = server.env
    admin = await createConnection({ host: '127.0.0.1', port: Number(DB_PORT), user: 'zin', password: 'zin' })
    await admin.query("create user app identified by 'app'")
    await admin.query('grant all on zin.* to app')
    usual = await outcomes()
    assert.equal(usual.database.length, statements.length)
  })
  after(async () => {
    await admin.end()
    await server.stop()
  })

  const count = async (table: string): Promise<number> => {
    const [[row]] = (await admin.query(`select count(*) as n from zin.${table}`)) as unknown as readonly [readonly [{ readonly n: number }]]
    return row.n
  }

  /** Runs everything on an app with an empty database. */
  async function outcomes() {
    for (const one of ['drop database if exists zin', 'create database zin character set utf8mb4']) await admin.query(one)
    const host = await createTestHost({
      listen: true,
      plugins: [health(), database(), kv(), rdbProxy()],
      env: {
        ...server.env,
        DB_USERNAME: 'app',
        DB_PASSWORD: 'app',
        DB_POOL_LIMIT: '1',
        RDB_PROXY_POOL_LIMIT: '1',
        RDB_PROXY_SECRET: secret,
      },
    })
    try {
      return { ...(await ofDatabase(host)), ...(await ofProxy(host)), ...(await ofPlugins(host)) }
    } finally {
      await host.stop()
    }
  }

  async function ofDatabase(host: TestHost) {
    const db = host.service(databaseService)
    const run = (one: string): Promise<Outcome> =>
      sql
        .raw(one.replaceAll('$', 'd_'))
        .execute(db.tables())
        .then(
          ({ rows }) => rows,
          (error: { readonly errno?: number; readonly message: string }) => error.errno ?? error.message,
        )
    const found: Outcome[] = []
    for (const one of statements) found.push(await run(one))
    const insert = (id: number) => sql`insert into d_parents values (${id}, 1)`
    await db.transaction((tx) => insert(11).execute(tx))
    await insert(12).execute(db.tables())
    await assert.rejects(
      db.transaction(async (tx) => {
        await insert(13).execute(tx)
        throw new Error('rolled back')
      }),
      /rolled back/,
    )
    return { database: found, databaseRows: await count('d_parents'), databaseSettings: await run(shown) }
  }

  async function ofProxy({ url }: TestHost) {
    const send = (path: string, body: unknown) => sendWire({ url, base: '/svc/rdb/', keyId: 'shop', secret }, path, body)
    const run = async (one: string): Promise<Outcome> => {
      const path = /^(select|with|show)/.test(one) ? 'query' : 'exec'
      const { body } = await send(path, { sql: one.replaceAll('$', 'r_') })
      return body.ok ? body.rows : (body.details?.errno ?? `${body.code} ${body.message}`)
    }
    const found: Outcome[] = []
    for (const one of statements) found.push(await run(one))
    const insert = (id: number) => ({ sql: `insert into r_parents values (${id}, 1)` })
    await send('batch', { statements: [insert(11)] })
    await send('exec', insert(12))
    await send('batch', { statements: [insert(13), insert(13)] })
    return { proxy: found, proxyRows: await count('r_parents'), proxySettings: await run(shown) }
  }

  async function ofPlugins(host: TestHost) {
    const db = host.service(databaseService)
    await db.transaction((tx) => sql`insert into d_parents values (20, 1)`.execute(tx))
    const kept = await count('zin_kv')
    for (const key of ['a', 'b', 'c']) await host.service(kvService).set(key, key)
    const store = dbStore(db, { connection: 'default', table: 'stored_workers', migrated: false })
    await store.prepare()
    for (const name of ['a', 'b', 'c']) assert.ok(await store.insert(stored(name)))
    return { kvRows: (await count('zin_kv')) - kept, workers: (await store.all()).length, workerRows: await count('stored_workers') }
  }

  it('have a hostile value here for each that a connection sets', () => {
    const missing = sessionSettings.filter(({ name, of }) => of !== 'MySQL 8' && hostile[name] === undefined)
    assert.deepEqual(missing, [])
    assert.deepEqual([usual.databaseRows, usual.proxyRows, usual.kvRows, usual.workers, usual.workerRows], [2, 2, 3, 3, 3])
    assert.deepEqual(usual.databaseSettings, usual.proxySettings)
  })

  if (onMysql)
    it('that only an administrator of MySQL may set are those of the server, and the app starts', async (t) => {
      for (const name of ['innodb_strict_mode', 'explicit_defaults_for_timestamp']) {
        t.after(() => admin.query(`set global ${name} = 1`))
        await admin.query(`set global ${name} = 0`)
      }
      await outcomes()
    })
  const ofMariaDb = new Set(sessionSettings.filter(({ of }) => of?.startsWith('MariaDB')).map(({ name }) => name))
  for (const [name, values] of Object.entries(hostile).filter(([name]) => !(onMysql && ofMariaDb.has(name))))
    for (const value of values)
      it(`change no statement of database, kv, workers and the relational proxy: ${name} = ${value}`, async (t) => {
        const [[{ before: kept }]] = (await admin.query(`select @@global.${name} as \`before\``)) as unknown as [[{ before: unknown }]]
        t.after(() =>
          admin.query(`set global ${name} = ${['system_versioning_asof', 'sql_select_limit'].includes(name) ? 'default' : '?'}`, [kept]),
        )
        await admin.query(`set global ${name} = ${value}`)
        assert.deepEqual(await outcomes(), usual)
      })
})

const secret = 'secret-of-the-relational-proxy-under-test'
const shown = `show session variables where variable_name in (${sessionSettings.map(({ name }) => `'${name}'`).join(', ')})`
