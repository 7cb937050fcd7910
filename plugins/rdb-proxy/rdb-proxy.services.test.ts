import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readSettings, systemClock } from 'zin'
import { memoryLogger } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { mysqlEnv, numbersTo, onMysql } from '../../scripts/testing/mysql-database.js'
import { assemble } from './assemble.js'
import { keysOf } from './auth/keys.js'
import { rdbProxyOptions } from './options.js'
import { rdbProxySettings } from './settings.js'
import { openAdmin, openRdb, type RdbUnderTest, secret } from './testing/rdb.js'
import { type SendOptions, sendWire } from './testing/wire.js'

const table = `rdb_${randomUUID().slice(0, 8)}`
const read = { sql: 'select 1 as a' }

describe('the relational proxy', () => {
  let admin: Awaited<ReturnType<typeof openAdmin>>
  before(async () => {
    admin = await openAdmin()
    await admin.run(
      `create table ${table} (id int primary key, name varchar(40) unique, age int check (age > 0), parent int, constraint ${table}_p foreign key (parent) references ${table} (id))`,
    )
  })
  after(async () => {
    await admin.run(`drop table ${table}`)
    await admin.close()
  })

  const withProxy = async (options: Parameters<typeof openRdb>[0], test: (rdb: RdbUnderTest) => Promise<void>): Promise<void> => {
    const rdb = await openRdb(options)
    try {
      await test(rdb)
    } finally {
      await rdb.close()
    }
  }
  const codeOf = async (rdb: RdbUnderTest, path: string, body: unknown, options?: SendOptions): Promise<string> => {
    const { status, body: answer } = await sendWire(rdb, path, body, options)
    return status === 200 ? 'ok' : `${status} ${answer.code}`
  }

  it('enforces the scopes of each key', async () => {
    const own = 'the secret of a reader, 32 bytes or more'
    const keys = [
      { id: 'reader', secret: own, scopes: ['rdb:read', 'rdb:sql'] },
      { id: 'writer', secret: `${own}!`, secretsBackup: ['its earlier secret'], scopes: ['rdb:read', 'rdb:write', 'rdb:sql'] },
      { id: 'app', secret: `${own}?`, scopes: ['rdb:read', 'stmt:user.*'] },
    ]
    const statements = JSON.stringify({
      version: 1,
      statements: { 'user.one': 'select 1 as a', 'user.secret': { sql: 'select 2 as a', scopes: ['secrets'] }, other: 'select 3 as a' },
    })
    await withProxy({ options: { keys }, statements }, async (rdb) => {
      const as = (id: string, path: string, body: unknown): Promise<string> =>
        codeOf(rdb, path, body, { keyId: id, secret: keys.find((key) => key.id === id)?.secret ?? '' })
      const insert = { sql: `insert into ${table} (id) values (1)` }
      const forbidden = '403 FORBIDDEN_SCOPE'
      assert.equal(await as('reader', 'query', read), 'ok')
      assert.equal(await as('reader', 'exec', insert), forbidden)
      assert.equal(await as('reader', 'batch', { statements: [insert] }), forbidden)
      assert.equal(await as('reader', 'batch', { statements: [read], options: { readOnly: true } }), 'ok')
      assert.equal(await as('writer', 'exec', insert), 'ok')
      assert.equal(await as('writer', 'exec', { sql: `create table ${table}_ddl (a int)` }), forbidden)
      assert.equal(await as('app', 'query', read), forbidden)
      assert.equal(await as('app', 'statement', { statementId: 'user.one' }), 'ok')
      assert.equal(await as('app', 'statement', { statementId: 'user.secret' }), forbidden)
      assert.equal(await as('app', 'statement', { statementId: 'other' }), forbidden)
      // The secret must belong to the key id of the request.
      assert.equal(await codeOf(rdb, 'exec', insert, { keyId: 'writer', secret: own }), '401 UNAUTHORIZED')
      assert.equal(await codeOf(rdb, 'query', read, { keyId: 'writer', secret: 'its earlier secret' }), 'ok')
      await admin.run(`delete from ${table}`)
    })
  })

  it('limits the rate of each key; unsigned floods do not count against it', async () => {
    await withProxy({ options: { perMinute: 3 } }, async (rdb) => {
      for (let round = 0; round < 10; round++) assert.equal(await codeOf(rdb, 'query', read, { signed: false }), '401 UNAUTHORIZED')
      for (let round = 0; round < 10; round++) assert.equal(await codeOf(rdb, 'query', read, { secret: 'wrong' }), '401 UNAUTHORIZED')
      const codes: string[] = []
      for (let round = 0; round < 4; round++) codes.push(await codeOf(rdb, 'query', read))
      assert.deepEqual(codes, ['ok', 'ok', 'ok', '429 RATE_LIMITED'])
      const limited = await sendWire(rdb, 'query', read)
      assert.ok(Number(limited.headers.get('retry-after')) >= 1)
      assert.equal(limited.body.retryable, true)
    })
  })

  it('accepts unsigned requests if configured, but never requests with an invalid signature', async () => {
    await withProxy({ env: { RDB_PROXY_REQUIRE_SIGNING: 'false' } }, async (rdb) => {
      assert.equal(await codeOf(rdb, 'query', read, { signed: false }), 'ok')
      assert.equal(await codeOf(rdb, 'query', read), 'ok')
      assert.equal(await codeOf(rdb, 'query', read, { secret: 'wrong' }), '401 UNAUTHORIZED')
    })
  })

  it('refuses to start with unsafe settings', async () => {
    const refused = async (pattern: RegExp, env: Readonly<Record<string, string>>, options = {}): Promise<void> => {
      await assert.rejects(openRdb({ env, options }), pattern)
    }
    const long = 'x'.repeat(40)
    await refused(/RDB_PROXY_SECRET/, { RDB_PROXY_SECRET: '', RDB_PROXY_REQUIRE_SIGNING: 'true' })
    await refused(/RDB_PROXY_STATEMENTS_FILE/, { RDB_PROXY_MODE: 'registry' })
    await refused(/nowhere\.json/, { RDB_PROXY_STATEMENTS_FILE: 'nowhere.json' })
    await refused(/production requires signed/, { NODE_ENV: 'production', RDB_PROXY_SECRET: '' })
    await refused(/32 bytes/, { NODE_ENV: 'production', RDB_PROXY_SECRET: 'short' })
    await refused(/empty password/, { NODE_ENV: 'production', RDB_PROXY_SECRET: long, DB_USERNAME: 'root', DB_PASSWORD: '' })
    await refused(/only the privilege SELECT/, { NODE_ENV: 'production', RDB_PROXY_SECRET: long })
    await refused(
      /two keys have the id/,
      {},
      {
        keys: [
          { id: 'a', secret: long },
          { id: 'a', secret: long },
        ],
      },
    )
  })

  it('maps database errors to wire errors', async () => {
    await withProxy({}, async (rdb) => {
      const run = async (sql: string, params: readonly unknown[] = []) => (await sendWire(rdb, 'exec', { sql, params })).body
      await run(`insert into ${table} (id, name) values (1, 'one')`)
      const kinds = [
        ['unique', `insert into ${table} (id, name) values (2, 'one')`],
        ['foreign_key', `insert into ${table} (id, parent) values (3, 77)`],
        ['check', `insert into ${table} (id, age) values (4, -1)`],
        ['not_null', `insert into ${table} (id) values (null)`],
      ] as const
      for (const [kind, sql] of kinds) {
        const { code, status, details, retryable } = await run(sql)
        assert.deepEqual(
          [code, status, details.kind, details.sqlState, retryable],
          ['CONSTRAINT_VIOLATION', 409, kind, kind === 'check' && onMysql ? 'HY000' : '23000', false],
          sql,
        )
        assert.equal(typeof details.errno, 'number')
      }
      for (const [sql, errno] of [
        ['insert into nowhere values (1)', 1146],
        [`insert into ${table} (nope) values (1)`, 1054],
        ['insert into', 1064],
      ] as const) {
        const { code, details } = await run(sql)
        assert.deepEqual([code, details.errno], ['SQL_ERROR', errno], sql)
      }
      assert.equal((await run('selec 1')).code, 'SQL_ERROR')
      const holder = await openAdmin()
      await holder.run('begin')
      await holder.run(`update ${table} set name = 'held' where id = 1`)
      const waiting = await sendWire(rdb, 'exec', { sql: `update ${table} set name = 'two' where id = 1`, options: { timeoutMs: 300 } })
      assert.deepEqual([waiting.status, waiting.body.code], [504, 'QUERY_TIMEOUT'])
      await holder.run('rollback')
      await holder.close()
      await admin.run(`delete from ${table}`)
    })
    await withProxy({ env: { DB_PORT: '1' } }, async (rdb) => {
      const { status, body, headers } = await sendWire(rdb, 'query', read)
      assert.deepEqual([status, body.code, body.retryable, headers.get('retry-after')], [503, 'DB_UNAVAILABLE', true, '1'])
    })
    await withProxy({ env: { DB_PASSWORD: 'wrong' } }, async (rdb) => {
      const { status, body, text } = await sendWire(rdb, 'query', read)
      assert.deepEqual([status, body.code], [502, 'DB_AUTH_FAILED'])
      assert.ok(!text.includes('zin'))
    })
  })

  it('returns columns by whatever name, or refuses them, and never with a 5xx', async () => {
    await withProxy({}, async (rdb) => {
      for (const column of ['__proto__', 'constructor', 'toString', 'a"b', '1']) {
        const { status, text } = await sendWire(rdb, 'query', { sql: `select 1 as \`${column}\`, 2 as b` })
        assert.ok(status === 200 || status === 400, `${column}: ${status} ${text}`)
        if (status === 200) assert.ok(text.includes(JSON.stringify(column)), text)
      }
    })
  })

  it('reloads a changed statements file as a whole, and keeps the current statements if it is invalid', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'zin-statements-'))
    const file = join(folder, 'statements.json')
    await writeFile(file, '{"version": 1, "hashIds": true, "statements": {"one": "select 1 as a"}}')
    const env = { RDB_PROXY_MODE: 'registry', RDB_PROXY_STATEMENTS_FILE: file }
    await withProxy({ env, options: { watch: true } }, async (rdb) => {
      const row = async (statementId: string) =>
        (await sendWire(rdb, 'statement', { statementId })).body.rows?.map(({ a }: { readonly a: number | string }) => Number(a))[0]
      assert.equal(await row('one'), 1)
      const hash = createHash('sha256').update('select 1 as a').digest('hex')
      assert.deepEqual([await row(hash), await row(`sha256:${hash}`)], [1, 1])
      await writeFile(file, '{"one": "select 1; select 2"}')
      await eventually('the fault is in the log', async () => /one: its SQL|\\"one\\"|its SQL has 2 statements/.test(rdb.host.logText()))
      assert.equal(await row('one'), 1)
      await writeFile(file, '{"two": "select 22 as a"}')
      await eventually('the new statement is there', async () => (await row('two')) === 22)
      assert.equal(await row('one'), undefined)
    })
    await rm(folder, { recursive: true })
  })

  it('runs a sequence up to its first error, and DDL only outside of transactions', async () => {
    await withProxy({}, async (rdb) => {
      const insert = (id: number) => ({ sql: `insert into ${table} (id) values (?)`, params: [id] })
      const { status, body } = await sendWire(rdb, 'batch', {
        statements: [insert(1), insert(1), insert(2)],
        options: { mode: 'sequence' },
      })
      assert.deepEqual([status, body.failedIndex, body.committed, body.results.length], [409, 1, false, 1])
      assert.deepEqual([...(await admin.run(`select id from ${table}`))], [{ id: 1 }])
      const ddl = { sql: `create table ${table}_ddl (a int)` }
      assert.equal(await codeOf(rdb, 'batch', { statements: [insert(3), ddl] }), '422 DDL_IN_TRANSACTION')
      assert.equal(await codeOf(rdb, 'exec', { ...ddl, options: { idempotencyKey: 'a' } }), '422 DDL_IN_TRANSACTION')
      assert.equal(
        await codeOf(rdb, 'batch', { statements: [ddl, { sql: `drop table ${table}_ddl` }], options: { mode: 'sequence' } }),
        'ok',
      )
      const isolated = {
        statements: [{ sql: `select @@${onMysql ? 'transaction_isolation' : 'tx_isolation'} as a`, one: true }],
        options: { isolation: 'serializable' },
      }
      assert.equal((await sendWire(rdb, 'batch', isolated)).status, 200)
      assert.equal(await codeOf(rdb, 'batch', { statements: [insert(4)], options: { isolation: 'chaos' } }), '400 VALIDATION_ERROR')
      await admin.run(`delete from ${table}`)
    })
  })

  it('makes a second request with the same idempotency key wait for the first, and replays its response', async () => {
    await withProxy({}, async (rdb) => {
      const options = { idempotencyKey: randomUUID() }
      const slow = { sql: `insert into ${table} (id, name) select 9, concat('slept ', sleep(1.5))`, options }
      const first = sendWire(rdb, 'exec', slow)
      await eventually(
        'it runs',
        async () =>
          (await admin.run("select id from information_schema.processlist where info like '%slept%' and info not like '%processlist%'"))
            .length === 1,
      )
      const impatient = await sendWire(rdb, 'exec', { ...slow, options: { ...options, timeoutMs: 200 } })
      assert.deepEqual([impatient.status, impatient.body.code, impatient.body.retryable], [409, 'IDEMPOTENCY_IN_PROGRESS', true])
      const patient = await sendWire(rdb, 'exec', slow)
      assert.deepEqual([(await first).body.meta.replayed, patient.body.meta.replayed], [false, true])
      await admin.run(`delete from ${table}`)
    })
  })

  it('keeps transactions open with one-time batons, and rolls back abandoned ones', async () => {
    const options = { transactionIdleMs: 1000 }
    await withProxy({ env: { RDB_PROXY_TRANSACTIONS: 'true' }, options }, async (rdb) => {
      const tx = async (body: object) => (await sendWire(rdb, 'tx', body)).body
      const insert = (baton: string, id: number) => tx({ action: 'exec', baton, sql: `insert into ${table} (id) values (?)`, params: [id] })
      const begun = await tx({ action: 'begin', options: { isolation: 'read committed' } })
      const added = await insert(begun.tx.baton, 1)
      assert.equal(added.rowCount, 1)
      assert.equal((await insert(begun.tx.baton, 2)).code, 'TX_UNKNOWN')
      assert.equal((await tx({ action: 'queryOne', baton: `${added.tx.baton.slice(0, -2)}AA`, sql: 'select 1' })).code, 'TX_UNKNOWN')
      assert.equal((await tx({ action: 'commit', baton: added.tx.baton })).committed, true)
      assert.equal((await admin.run(`select id from ${table}`)).length, 1)

      const failing = await tx({ action: 'begin' })
      const failed = await insert(failing.tx.baton, 1)
      assert.deepEqual([failed.code, failed.details.rolledBack], ['CONSTRAINT_VIOLATION', true])

      for (const sql of ['commit', `truncate table ${table}`, 'insert into nothing values (?)']) {
        const { tx: before } = await tx({ action: 'begin' })
        const refused = await tx({ action: 'exec', baton: before.baton, sql })
        assert.deepEqual(
          [refused.details?.rolledBack, (await tx({ action: 'commit', baton: before.baton })).code],
          [true, 'TX_UNKNOWN'],
          sql,
        )
      }

      const left = await tx({ action: 'begin' })
      const { tx: state } = await insert(left.tx.baton, 5)
      // Waits for the lock of the open transaction; fails if that was committed.
      await admin.run(`insert into ${table} (id) values (5)`)
      const late = await tx({ action: 'commit', baton: state.baton })
      assert.deepEqual([late.code, late.details.rolledBack], ['TX_EXPIRED', true])

      const open = []
      for (let round = 0; round < 6; round++) open.push(await tx({ action: 'begin', options: { readOnly: true } }))
      assert.deepEqual(
        open.map(({ code = 'ok' }) => code),
        ['ok', 'ok', 'ok', 'ok', 'ok', 'POOL_EXHAUSTED'],
      )
      await admin.run(`delete from ${table}`)
    })
    await withProxy({}, async (rdb) => assert.equal(await codeOf(rdb, 'tx', { action: 'begin' }), '404 NOT_FOUND'))
  })

  it('reports an unknown outcome when the connection is lost before a commit', async () => {
    await withProxy({ env: { RDB_PROXY_TRANSACTIONS: 'true' } }, async (rdb) => {
      const tx = async (body: object) => (await sendWire(rdb, 'tx', body)).body
      const begun = await tx({ action: 'begin' })
      const asked = await tx({ action: 'queryOne', baton: begun.tx.baton, sql: 'select connection_id() as id' })
      const id = Number(asked.row.id)
      await admin.run(`kill ${id}`)
      await eventually(
        'the connection is gone',
        async () => (await admin.run('select id from information_schema.processlist where id = ?', [id])).length === 0,
      )
      const lost = await tx({ action: 'commit', baton: asked.tx.baton })
      assert.deepEqual([lost.code, lost.retryable, lost.details?.outcome], ['DB_UNAVAILABLE', false, 'unknown'])
    })
  })

  it('responds 503 DB_UNAVAILABLE on every path when the database cannot be reached', async () => {
    await withProxy({ env: { DB_PORT: '1' } }, async (rdb) => {
      const unavailable = '503 DB_UNAVAILABLE'
      for (const path of ['query', 'exec']) assert.equal(await codeOf(rdb, path, read), unavailable, path)
      for (const mode of ['transaction', 'sequence'])
        assert.equal(await codeOf(rdb, 'batch', { statements: [read], options: { mode } }), unavailable, mode)
    })
  })

  it('stores idempotent responses with a user that lacks CREATE, if the table exists', async () => {
    const insert = { sql: `insert into ${table} (id) values (?)` }
    await withProxy({}, async (rdb) => {
      assert.equal(await codeOf(rdb, 'exec', { ...insert, params: [1], options: { idempotencyKey: randomUUID() } }), 'ok')
    })
    const user = `w_${randomUUID().slice(0, 8)}`
    await admin.run(`create user ${user}@'127.0.0.1' identified by 'writes'`)
    await admin.run(`grant select, insert, update, delete on \`${admin.database}\`.* to ${user}@'127.0.0.1'`)
    await withProxy({ env: { DB_USERNAME: user, DB_PASSWORD: 'writes' } }, async (rdb) => {
      const request = { ...insert, params: [2], options: { idempotencyKey: randomUUID() } }
      assert.deepEqual([await codeOf(rdb, 'exec', request), await codeOf(rdb, 'exec', request)], ['ok', 'ok'])
    })
    await admin.run(`drop user ${user}@'127.0.0.1'`)
    await admin.run(`delete from ${table}`)
  })

  it('deletes all expired receipts in one sweep', async () => {
    const settings = readSettings(rdbProxySettings, mysqlEnv(), 'test')
    const options = rdbProxyOptions.defaults
    const keys = keysOf({ keyId: '', secret, options })
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-rdb-sweep-'))
    const running = assemble({
      settings,
      headerPrefix: 'x-sig-',
      options,
      keys,
      signingRequired: true,
      app: { rootDir: dataDir, dataDir, production: false },
      kv: () => undefined,
      isStopping: () => false,
      clock: systemClock,
      log: memoryLogger(),
    })
    try {
      const call = {
        key: keys.unsigned,
        requestId: 'sweep',
        hash: () => '0'.repeat(64),
        client: () => () => undefined,
        onFault: () => undefined,
      }
      const write = { sql: `delete from ${table} where id = 0`, params: [], options: { idempotencyKey: randomUUID() } }
      await running.proxy.exec(call, write)
      await admin.run(`insert into zin_proxy_receipts select 'old', seq, repeat('0', 64), '{}', 0 from ${numbersTo(10_001)}`)
      await running.sweepReceipts()
      const [left] = await admin.run("select count(*) as n from zin_proxy_receipts where key_id = 'old'")
      assert.equal(Number(left?.n), 0)
    } finally {
      await running.close()
      await rm(dataDir, { recursive: true })
    }
  })

  it('ends a stream with its error, and responds to errors before the first row as usual', async () => {
    await withProxy({}, async (rdb) => {
      const stream = (body: object) => sendWire(rdb, 'query', body, { headers: { accept: 'application/x-ndjson' } })
      const lines = (text: string) =>
        text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      const { text } = await stream({ sql: `select seq from ${numbersTo(20)}`, options: { maxRows: 5 } })
      assert.deepEqual(
        lines(text).map(({ type }) => type),
        ['head', 'row', 'row', 'row', 'row', 'row', 'error'],
      )
      assert.equal(lines(text).at(-1).error.code, 'RESULT_TOO_LARGE')
      assert.equal((await stream({ sql: 'select nope' })).body.code, 'SQL_ERROR')
      assert.equal((await stream({ sql: 'select 1 as a, 2 as a' })).body.code, 'DUPLICATE_COLUMN')
      assert.deepEqual(
        lines((await stream({ sql: 'select 1 as a from dual where 1 = 0' })).text).map(({ type }) => type),
        ['head', 'end'],
      )
      const slow = lines(
        (await stream({ sql: `select seq, sleep(if(seq > 3, 30, 0)) as s from ${numbersTo(5)}`, options: { timeoutMs: 500 } })).text,
      )
      assert.equal(slow.at(-1).error?.code ?? slow.at(-1).code, 'QUERY_TIMEOUT')
      assert.match(rdb.host.logText(), /QUERY_TIMEOUT/)
    })
  })

  it('never logs its secrets, and returns the request id', async () => {
    await withProxy({}, async (rdb) => {
      const { body, headers } = await sendWire(rdb, 'query', { sql: 'select nope' })
      assert.equal(body.requestId, headers.get('x-request-id'))
      await sendWire(rdb, 'query', read, { signed: false })
      assert.ok(!rdb.host.logText().includes(secret))
      assert.ok(/proxy request refused/.test(rdb.host.logText()))
    })
  })
})
