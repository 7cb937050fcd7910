import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../../scripts/testing/eventually.js'
import { numbersTo, onMysql } from '../../scripts/testing/mysql-database.js'
import { createReader, openAdmin, openRdb, type RdbUnderTest } from './testing/rdb.js'
import { sendWire, startWire } from './testing/wire.js'

const table = `items_${randomUUID().slice(0, 8)}`

describe('the sessions of the relational proxy', () => {
  let admin: Awaited<ReturnType<typeof openAdmin>>
  let reader: Awaited<ReturnType<typeof createReader>>
  let rdb: RdbUnderTest
  before(async () => {
    admin = await openAdmin()
    reader = await createReader()
    await admin.run(`create table ${table} (id int primary key, n int)`)
    if (!onMysql) await admin.run(`create sequence ${table}_seq`)
    await admin.run(`create function ${table}_f() returns int modifies sql data begin insert into ${table} values (99, 1); return 1; end`)
    await admin.run(`insert into ${table} values (1, 1)`)
    rdb = await openRdb({ env: { ...reader.env, RDB_PROXY_POOL_LIMIT: '2', RDB_PROXY_TRANSACTIONS: 'true' } })
  })
  after(async () => {
    await rdb.close()
    await admin.run(`drop function ${table}_f`)
    if (!onMysql) await admin.run(`drop sequence ${table}_seq`)
    await admin.run(`drop table ${table}`)
    await reader.drop()
    await admin.close()
  })

  it('never show a caller the warnings, locks and variables of another', async () => {
    const rows = async (sql: string, params: readonly unknown[] = []) => {
      const { body, text } = await sendWire(rdb, 'query', { sql, params })
      assert.equal(body.ok, true, text)
      return body.rows
    }
    await rows('select cast(? as decimal) as n', ['a value of mine'])
    // On MySQL, it shows that it cannot be prepared itself.
    const own = 'This command is not supported in the prepared statement protocol yet'
    const warnings: readonly { readonly Message: string }[] = await rows('show warnings')
    assert.deepEqual(
      warnings.filter(({ Message }) => !(onMysql && Message === own)),
      [],
    )
    // The database treats a no-break space as part of a name, so these are not comments.
    const name = '\u00a0'
    await rows(`select 1 --${name} + get_lock('${table}', 0) + (@mine := 1) from (select 1 as ${name}) as t`)
    assert.deepEqual(await rows(`select is_used_lock('${table}') as locked, @mine as mine`), [{ locked: null, mine: null }])
  })

  it('keep what a view leaves in the session from the next caller, also when the view takes the name of a table', async () => {
    const [counter, lock, view, locking, late] = [`${table}_counts`, `${table}_locks`, `${table}_v`, `${table}_w`, `${table}_late`] as const
    const one = await openRdb({ env: { ...reader.env, RDB_PROXY_POOL_LIMIT: '1' } })
    const ddl = async (sql: string) => assert.equal((await sendWire(one, 'exec', { sql })).status, 200, sql)
    const n = async (sql: string, params: readonly unknown[] = []) => (await sendWire(one, 'queryOne', { sql, params })).body.row.n
    try {
      await ddl(`create function ${counter}() returns int return @counter := coalesce(@counter, 0) + 1`)
      await ddl(`create function ${lock}() returns int return get_lock('${lock}', 0)`)
      await ddl(`create sql security definer view ${view} as select ${counter}() as n`)
      await ddl(`create sql security definer view ${locking} as select ${lock}() as n`)
      await ddl(`create table ${late} (n int primary key)`)
      await ddl(`insert into ${late} values (1)`)
      // Reads of base tables skip the reset, as soon as their names are known: it would set the number of executed statements to 0.
      const counted = "select variable_value as n from information_schema.session_status where variable_name = 'COM_STMT_EXECUTE'"
      const counting = 'select max(count_execute) as n from performance_schema.prepared_statements_instances where sql_text like ?'
      const executed = async () => Number(onMysql ? (await admin.run(counting, [`%from ${late}`]))[0]?.n : await n(counted))
      await eventually('reads of base tables skip the reset', async () => {
        for (let i = 0; i < 10; i++) assert.equal(await n(`select n from ${late}`), 1)
        return (await executed()) > 10
      })
      const reads = [view, `\`${view}\``, `${late}, ${view} as x where 1 = 1`, `(select n from ${view}) as x`, `${admin.database}.${view}`]
      for (const from of reads) assert.equal(await n(`select ${from.startsWith(late) ? 'x.' : ''}n from ${from}`), 1, from)
      await n(`select n from ${locking}`)
      assert.equal(await n(`select n from ${late}`), 1)
      const [held] = await admin.run(`select is_used_lock('${lock}') as held`)
      assert.equal(held?.held, null)
      await ddl(`drop table ${late}`)
      await ddl(`create sql security definer view ${late} as select ${counter}() as n`)
      for (let i = 0; i < 3; i++) assert.equal(await n(`select n from ${late}`), 1, 'the table is a view now')
    } finally {
      await one.close()
      for (const name of [view, locking, late]) await admin.run(`drop view if exists ${name}`)
      for (const name of [counter, lock]) await admin.run(`drop function if exists ${name}`)
      await admin.run(`drop table if exists ${late}`)
    }
  })

  it('never write on the reading paths, whatever the SQL', async () => {
    const probes = [
      `insert into ${table} values (2, 2)`,
      `replace into ${table} values (1, 2)`,
      `update ${table} set n = 2`,
      `delete from ${table}`,
      `with a as (select 1) delete from ${table}`,
      `/* select */ update ${table} set n = 2`,
      `/*! update ${table} set n = 2 */`,
      `/*M!100100 update */ ${table} set n = 2`,
      `truncate ${table}`,
      `create table ${table}_x (a int)`,
      `create temporary table ${table}_t (a int)`,
      `alter table ${table} add x int`,
      `drop table ${table}`,
      `select nextval(${table}_seq)`,
      `select ${table}_f()`,
      `select 1 into outfile '/tmp/${table}'`,
      `select 1 --\u00a0 from (select 1 as \u00a0) as t into outfile '/tmp/${table}'`,
      `select 1 --\u007f'\n into outfile '/tmp/${table}' -- '`,
      `select n into @a from ${table}`,
      `select * from ${table} for update`,
      `set global max_connections = 99`,
      `begin not atomic insert into ${table} values (3, 3); end`,
      `execute immediate 'insert into ${table} values (4, 4)'`,
      `analyze update ${table} set n = 9`,
      `call ${table}_p()`,
    ]
    for (const sql of probes) {
      for (const path of ['query', 'queryOne']) {
        const { status, text } = await sendWire(rdb, path, { sql })
        assert.ok(status === 403 || status === 400, `${sql}: ${status} ${text}`)
      }
      const batch = await sendWire(rdb, 'batch', { statements: [{ sql }], options: { readOnly: true } })
      assert.ok(batch.status === 403 || batch.status === 400, `${sql}: ${batch.text}`)
    }
    assert.deepEqual([...(await admin.run(`select id, n from ${table}`))], [{ id: 1, n: 1 }])
    assert.deepEqual([...(await admin.run(`show tables like '${table}%'`))].length, onMysql ? 1 : 2)
  })

  it('keep no state of one caller for the next', async () => {
    const set = [
      'set @stolen = 7',
      "set sql_mode = ''",
      "set time_zone = '+05:00'",
      'lock tables x write',
      'begin',
      'use mysql',
      `prepare s from 'select 1'`,
    ]
    for (const sql of set) assert.equal((await sendWire(rdb, 'exec', { sql })).body.code, 'STATEMENT_NOT_ALLOWED', sql)
    // Allowed statements that leave session state behind.
    await sendWire(rdb, 'query', { sql: 'select @left := 8 as a, get_lock(?, 0) as b', params: [`lock ${table}`] })
    await sendWire(rdb, 'exec', { sql: `create temporary table ${table}_left (a int)` })
    await sendWire(rdb, 'exec', { sql: `insert into ${table} (id, n) values (500, last_insert_id(4711))` })
    // Covers every connection of both pools.
    const looks = Array.from({ length: 8 }, async (_unused, at) => {
      const path = at % 2 === 0 ? 'queryOne' : 'exec'
      const { body } = await sendWire(rdb, path, {
        sql: 'select @left as a, @stolen as b, @@time_zone as z, last_insert_id() as i, @@sql_mode like ? as strict, is_used_lock(?) as held',
        params: ['%STRICT%', `lock ${table}`],
      })
      const row = body.row ?? body.rows[0]
      assert.deepEqual([row.a, row.b, row.z, row.i, Number(row.strict), row.held], [null, null, '+00:00', '0', 1, null])
      assert.equal((await sendWire(rdb, 'exec', { sql: `insert into ${table}_left values (1)` })).body.code, 'SQL_ERROR')
    })
    await Promise.all(looks)
    await admin.run(`delete from ${table} where id = 500`)
  })

  it('kill a slow statement on the server and respond 504', async () => {
    const mark = randomUUID()
    const running = async (): Promise<number> =>
      (await admin.run('select info from information_schema.processlist where info like ?', [`%${mark}%`])).filter(
        ({ info }) => !String(info).includes('processlist'),
      ).length
    const sql = `select sleep(600) as a /* ${mark} */`
    const slow = sendWire(rdb, 'query', { sql: `select sleep(600) as a, '${mark}' as b`, options: { timeoutMs: 1500 } })
    await eventually('the statement runs', async () => (await running()) === 1)
    const { status, body } = await slow
    assert.deepEqual([status, body.code, body.details.outcome, body.retryable], [504, 'QUERY_TIMEOUT', 'cancelled', true], sql)
    await eventually('the statement has ended', async () => (await running()) === 0)
    // A write is not retryable, and its transaction is gone.
    const write = await sendWire(rdb, 'exec', { sql: `update ${table} set n = sleep(600) where id = 1`, options: { timeoutMs: 300 } })
    assert.deepEqual([write.status, write.body.retryable], [504, false])
    assert.deepEqual([...(await admin.run(`select n from ${table} where id = 1`))], [{ n: 1 }])
  })

  it('kill a read when its client disconnects', async () => {
    const mark = randomUUID()
    const gone = new AbortController()
    const asked = startWire(rdb, 'query', { sql: `select sleep(600) as a, '${mark}' as b` }, { signal: gone.signal }).catch(() => undefined)
    const running = async (): Promise<number> =>
      (
        await admin.run("select info from information_schema.processlist where info like ? and info not like '%processlist%'", [
          `%${mark}%`,
        ])
      ).length
    await eventually('the statement runs', async () => (await running()) === 1)
    gone.abort()
    await asked
    await eventually('the statement has ended', async () => (await running()) === 0)
  })

  it('refuse requests that wait too long for a connection, and still serve health', async () => {
    const ends = new AbortController()
    const slow = Array.from({ length: 200 }, () =>
      startWire(rdb, 'query', { sql: 'select sleep(20) as a' }, { signal: ends.signal }).catch(() => undefined),
    )
    // Also clients that send half a request.
    const { hostname, port } = new URL(rdb.url)
    const halves = Array.from({ length: 200 }, () => {
      const socket = connect(Number(port), hostname, () => void socket.write('POST /svc/rdb/query HTTP/1.1\r\nhost: '))
      return socket.on('error', () => undefined)
    })
    const refused = await Promise.race(
      slow.map(async (response) => ((await response)?.status === 200 ? new Promise<never>(() => undefined) : await response)),
    )
    assert.ok(refused !== undefined)
    const body = (await refused.json()) as { readonly code: string }
    assert.ok(
      (refused.status === 503 && body.code === 'POOL_EXHAUSTED') || (refused.status === 429 && body.code === 'RATE_LIMITED'),
      `${refused.status} ${body.code}`,
    )
    assert.equal(refused.headers.get('retry-after'), '1')
    assert.equal((await fetch(`${rdb.url}/health/live`)).status, 200)
    ends.abort()
    for (const half of halves) half.destroy()
    await Promise.all(slow)
    await eventually('the pool serves again', async () => (await sendWire(rdb, 'queryOne', { sql: 'select 1 as a' })).status === 200)
  })

  it('keep memory flat while a million rows are refused or streamed to a slow reader', async () => {
    const sql = `select seq as id, repeat(?, 40) as text from ${numbersTo(1_000_000)}`
    const used = (): number => {
      globalThis.gc?.()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const before = used()
    const most = 100 * 2 ** 20
    for (let round = 0; round < 3; round++) {
      const { status, body } = await sendWire(rdb, 'query', { sql, params: ['x'] })
      assert.deepEqual([status, body.code, body.details.limit], [422, 'RESULT_TOO_LARGE', 10_000])
    }
    assert.ok(used() - before < most)

    const response = await startWire(rdb, 'query', { sql, params: ['x'] }, { headers: { accept: 'application/x-ndjson' } })
    assert.equal(response.headers.get('content-type'), 'application/x-ndjson')
    const stream = (response.body as ReadableStream<Uint8Array>).getReader()
    let lines = 0
    let last = ''
    let peak = 0
    for (let pieces = 0; ; pieces++) {
      const { value, done } = await stream.read()
      if (done) break
      const parts = (last + Buffer.from(value).toString('utf8')).split('\n')
      last = parts.pop() ?? ''
      lines += parts.length
      if (parts.length > 0 && last === '') last = ''
      // A reader that pauses now and then.
      if (pieces % 400 === 0) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        peak = Math.max(peak, used() - before)
      }
      if (parts.at(-1)?.includes('"type":"end"')) assert.equal(JSON.parse(parts.at(-1) as string).rowCount, 1_000_000)
    }
    assert.equal(lines, 1_000_002)
    assert.ok(peak < most, `${Math.round(peak / 2 ** 20)} MiB`)
  })

  it('release the connection of a stream when its reader disconnects', async () => {
    const sql = `select seq as many from ${numbersTo(10_000_000)}`
    for (let round = 0; round < 4; round++) {
      const gone = new AbortController()
      const response = await startWire(rdb, 'query', { sql }, { headers: { accept: 'application/x-ndjson' }, signal: gone.signal })
      assert.equal(response.status, 200, await (response.ok ? '' : response.text()))
      gone.abort()
      await eventually('another stream may begin', async () => {
        const next = await sendWire(rdb, 'query', { sql: 'select 1 as a' }, { headers: { accept: 'application/x-ndjson' } })
        return next.status === 200
      })
    }
    const running = () =>
      admin.run("select id from information_schema.processlist where info like '%seq as many%' and info not like '%processlist%'")
    await eventually('nothing runs any more', async () => (await running()).length === 0)
  })

  it('keep the prepared statements of a connection within a limit of bytes, and close longer ones after one use', async () => {
    const env = { ...reader.env, RDB_PROXY_POOL_LIMIT: '1', RDB_PROXY_MAX_BODY_BYTES: '2000000' }
    const single = await openRdb({ env, options: { maxSqlBytes: 1_000_000 } })
    const read = async (sql: string) => {
      const { body, text } = await sendWire(single, 'queryOne', { sql })
      assert.equal(body.ok, true, text.slice(0, 500))
      return body.row
    }
    /** Statements that are open on the only connection for reading. */
    const open = async (): Promise<number> => {
      if (onMysql) {
        const marked =
          "select count(*) as n from performance_schema.prepared_statements_instances where sql_text like 'select % as id, char_length(%'"
        return Number((await admin.run(marked))[0]?.n)
      }
      const sign = "case variable_name when 'COM_STMT_PREPARE' then 1 else -1 end"
      const names = "('COM_STMT_PREPARE', 'COM_STMT_CLOSE')"
      const { n } = await read(
        `select sum(${sign} * variable_value) as n from information_schema.session_status where variable_name in ${names}`,
      )
      return Number(n)
    }
    const statement = (id: number, length: number): string => `select ${id} as id, char_length('${'x'.repeat(length)}') as n`
    try {
      const before = await open()
      for (const length of [40_000, 600_000])
        for (let id = 0; id < 3; id++) assert.equal(Number((await read(statement(id, length))).n), length)
      assert.equal(await open(), before)
      for (let id = 0; id < 60; id++) await read(statement(id, 30_000))
      const kept = (await open()) - before
      assert.ok(kept > 1 && kept * 60_000 <= 2 ** 20, `${kept}`)
    } finally {
      await single.close()
    }
  })
})
