import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadBinding } from 'zin/plugins/sqlite'
import { direct } from './testing/direct.js'
import type { EdgeBinding } from './worker/d1.js'
import { edgeWorker } from './worker/index.js'
import { returningOf } from './worker/returning.js'

const codeOf = ({ body }: { readonly body: string }): string => (JSON.parse(body) as { code: string }).code
const one = { sql: 'SELECT 1 AS one' }

describe('the handler of the edge proxy', () => {
  it('accepts timestamps within one minute of the clock, and remembers a nonce as long as its timestamp is valid', async (t) => {
    const proxy = await direct(t)
    const start = proxy.now
    for (const [offset, status] of [
      [-60_001, 401],
      [-60_000, 200],
      [60_000, 200],
      [60_001, 401],
    ] as const)
      assert.equal((await proxy.send('query', one, { timestamp: start + offset })).status, status, `${offset}`)
    const ahead = { timestamp: start + 60_000, nonce: '0123456789abcdef' }
    assert.equal((await proxy.send('query', one, ahead)).status, 200)
    for (const later of [61_000, 119_000, 120_000, 120_001]) {
      proxy.now = start + later
      // Further requests trigger the sweep of expired nonces.
      await proxy.send('query', one)
      assert.equal((await proxy.send('query', one, ahead)).status, 401, `${later}`)
    }
  })

  it('has a SQLite that itself refuses what changes the connection, and keeps full-text and R-tree tables working', async (t) => {
    const { db } = await direct(t)
    const run = (sql: string) => db.prepare(sql).raw({ columnNames: true })
    await run('create table t (id integer primary key, name text)')
    await run('create virtual table words using fts5(name)')
    await run('create virtual table old_words using fts4(name)')
    await run('create virtual table boxes using rtree(id, a, b)')
    await run("insert into words values ('ada')")
    assert.deepEqual(await run("select name from words where words match 'ada'"), [['name'], ['ada']])
    await run('alter table t rename to people')
    assert.deepEqual(await run("select name from pragma_table_info('people') limit 1"), [['name'], ['id']])
    // Node 22.16 to 24.9 has no authorizer.
    const { binding } = loadBinding()
    const memory = new binding.DatabaseSync(':memory:')
    t.after(() => memory.close())
    if (memory.setAuthorizer === undefined) return t.skip('this SQLite has no authorizer')
    for (const sql of [
      'pragma query_only = on',
      'explain pragma ignore_check_constraints = on',
      'pragma page_size = 512',
      'select * from pragma_database_list',
      "attach ':memory:' as x",
      'detach main',
      'create temp table people (id)',
      'create table temp.people (id)',
      'create temporary view people as select 1',
    ])
      await assert.rejects(run(sql), /not authorized/, sql)
    await run("insert into people values (1, 'ada')")
  })

  it('refuses functions and tables of its SQLite that access files, pages or statements of other callers', async (t) => {
    const proxy = await direct(t)
    const file = join(tmpdir(), `zin-edge-${randomUUID()}`)
    t.after(() => rm(file, { force: true }))
    for (const sql of [
      `SELECT writefile('${file}', 'x')`,
      `SELECT "WriteFile"('${file}', 'x')`,
      "SELECT readfile('/etc/hostname')",
      "SELECT name FROM 'fsdir' WHERE path = '/'",
      "SELECT sha3_query('DELETE FROM t')",
      'SELECT sql FROM sqlite_stmt',
      'SELECT data FROM [sqlite_dbpage]',
    ])
      for (const path of ['query', 'exec']) {
        const reply = await proxy.send(path, { sql })
        assert.deepEqual([reply.status, codeOf(reply)], [403, 'STATEMENT_NOT_ALLOWED'], `${path} ${sql}`)
      }
    assert.equal(existsSync(file), false)
    assert.equal((await proxy.send('query', { sql: "SELECT upper('a') AS a, 'readfile' || ? AS b", params: ['readfile'] })).status, 403)
    assert.equal((await proxy.send('query', { sql: 'SELECT ? AS b', params: ['readfile'] })).status, 200)
  })

  it('refuses a nonce that was used with another key id', async (t) => {
    const proxy = await direct(t)
    const nonce = 'fedcba9876543210'
    assert.equal((await proxy.send('query', one, { nonce, keyId: 'one' })).status, 200)
    assert.equal((await proxy.send('query', one, { nonce, keyId: 'two' })).status, 401)
  })

  it('resets the rate of each key every minute', async (t) => {
    const proxy = await direct(t, { EDGE_RATE_PER_MINUTE: '2' })
    proxy.now = 1_800_000_000_000 + 15_000
    const statuses = async (): Promise<readonly number[]> =>
      [await proxy.send('query', one), await proxy.send('query', one), await proxy.send('query', one)].map(({ status }) => status)
    assert.deepEqual(await statuses(), [200, 200, 429])
    const refused = await proxy.send('query', one)
    assert.deepEqual([codeOf(refused), refused.headers['retry-after']], ['RATE_LIMITED', '45'])
    proxy.now += 45_000
    assert.deepEqual(await statuses(), [200, 200, 429])
  })

  it('does not run a rate-limited request later', async (t) => {
    const proxy = await direct(t, { EDGE_RATE_PER_MINUTE: '1' })
    proxy.now += 1_000
    const again = { nonce: 'aaaaaaaaaaaaaaaa', timestamp: proxy.now }
    assert.equal((await proxy.send('query', one)).status, 200)
    assert.equal((await proxy.send('query', one, again)).status, 429)
    proxy.now += 60_000
    assert.equal((await proxy.send('query', one, again)).status, 401)
  })

  it('deletes a receipt after a day', async (t) => {
    const proxy = await direct(t, { EDGE_RATE_PER_MINUTE: '0' })
    await proxy.send('exec', { sql: 'CREATE TABLE t (id INTEGER PRIMARY KEY)' })
    const write = { sql: 'INSERT INTO t DEFAULT VALUES', options: { idempotencyKey: 'k' } }
    const idOf = async (): Promise<unknown> => JSON.parse((await proxy.send('exec', write)).body).lastInsertId
    assert.deepEqual([await idOf(), await idOf()], ['1', '1'])
    proxy.now += 86_400_000
    assert.equal(await idOf(), '1')
    proxy.now += 1
    assert.equal(await idOf(), '2')
  })

  it('sweeps expired nonces, receipts and rates', async (t) => {
    const proxy = await direct(t)
    await proxy.send('exec', { sql: 'CREATE TABLE t (id INTEGER PRIMARY KEY)' })
    for (let index = 0; index < 20; index++)
      await proxy.send('exec', { sql: 'INSERT INTO t DEFAULT VALUES', options: { idempotencyKey: `${index}` } }, { keyId: `key-${index}` })
    proxy.now += 90_000_000
    await proxy.send('query', one)
    const counts = ['nonces', 'rates', 'receipts'].map((name) => proxy.db.prepare(`SELECT count(*) AS n FROM zin_edge_${name}`))
    const left = (await proxy.db.batch(counts)).map(({ results }) => results[0]?.n)
    // The rates of its key id and of all.
    assert.deepEqual(left, [1, 2, 0])
  })

  it('sweeps again with the next request while expired rows are left', async (t) => {
    const proxy = await direct(t)
    await proxy.send('query', one)
    const numbers = 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10001)'
    await proxy.db.batch([proxy.db.prepare(`INSERT INTO zin_edge_nonces (nonce, until) ${numbers} SELECT 'old' || n, 0 FROM c`)])
    proxy.now += 61_000
    for (let request = 0; request < 3; request++) await proxy.send('query', one)
    const [left] = await proxy.db.batch([proxy.db.prepare("SELECT count(*) AS n FROM zin_edge_nonces WHERE nonce LIKE 'old%'")])
    assert.equal(left?.results[0]?.n, 0)
  })

  it('responds 504 when the database does not respond in time, and refuses a replay', async (t) => {
    let hangs = false
    const proxy = await direct(t, {}, (db): EdgeBinding => {
      const never = new Promise<never>(() => undefined)
      return { prepare: (sql) => db.prepare(sql), batch: (statements) => (hangs && statements.length > 3 ? never : db.batch(statements)) }
    })
    await proxy.send('exec', { sql: 'CREATE TABLE t (id INTEGER PRIMARY KEY)' })
    hangs = true
    const again = { nonce: 'bbbbbbbbbbbbbbbb' }
    const late = await proxy.send('exec', { sql: 'INSERT INTO t DEFAULT VALUES', options: { timeoutMs: 20 } }, again)
    const { code, retryable, details } = JSON.parse(late.body)
    assert.deepEqual([late.status, code, retryable, details.outcome], [504, 'QUERY_TIMEOUT', false, 'cancelled'])
    hangs = false
    assert.equal((await proxy.send('exec', { sql: 'INSERT INTO t DEFAULT VALUES', options: { timeoutMs: 20 } }, again)).status, 401)
  })

  it('responds 503 when the database is unavailable, and 500 without its message when it fails otherwise', async (t) => {
    let failure = ''
    const proxy = await direct(
      t,
      {},
      (db): EdgeBinding => ({
        prepare: (sql) => db.prepare(sql),
        batch: (statements) => (failure === '' ? db.batch(statements) : Promise.reject(new Error(failure))),
      }),
    )
    for (const [words, status, code] of [
      ['D1_ERROR: Network connection lost.', 503, 'DB_UNAVAILABLE'],
      ['D1_ERROR: D1 DB is overloaded. Requests queued for too long.', 503, 'DB_UNAVAILABLE'],
      ['D1_ERROR: database is locked: SQLITE_BUSY', 503, 'DB_UNAVAILABLE'],
      ['Cannot read properties of undefined', 500, 'INTERNAL'],
    ] as const) {
      failure = words
      const response = await proxy.send('query', one)
      failure = ''
      assert.deepEqual([response.status, codeOf(response)], [status, code])
      assert.ok(!response.body.includes('undefined'), response.body)
    }
  })

  it('describes a query again after another process changed the schema', async (t) => {
    const proxy = await direct(t)
    await proxy.send('exec', { sql: 'CREATE TABLE t (a)' })
    await proxy.send('exec', { sql: 'INSERT INTO t VALUES (1)' })
    const all = async (): Promise<unknown> => JSON.parse((await proxy.send('query', { sql: 'SELECT * FROM t' })).body).rows
    assert.deepEqual(await all(), [{ a: 1 }])
    await proxy.db.batch([proxy.db.prepare('ALTER TABLE t ADD COLUMN b')])
    assert.deepEqual(await all(), [{ a: 1, b: null }])
  })
})

describe('the worker of the edge proxy', () => {
  it('responds 503 CONFIG_ERROR, naming the invalid setting', async (t) => {
    t.mock.method(console, 'error', () => undefined)
    const binding = { prepare: () => undefined, batch: () => undefined }
    for (const [env, name] of [
      [{ DB: binding }, /EDGE_REMOTE_SECRET/],
      [{ EDGE_REMOTE_SECRET: 'a' }, /no D1 binding "DB"; EDGE_BINDING/],
      [{ EDGE_REMOTE_SECRET: 'a', EDGE_BINDING: 'OTHER', DB: binding }, /no D1 binding "OTHER"/],
      [{ EDGE_REMOTE_SECRET: 'a', DB: binding, EDGE_STATEMENTS_JSON: '{' }, /EDGE_STATEMENTS_JSON/],
    ] as const) {
      const response = await edgeWorker().fetch(new Request('https://edge.test/svc/edge/query', { method: 'POST' }), env as never)
      const { code, message } = (await response.json()) as { code: string; message: string }
      assert.deepEqual([response.status, code, response.headers.get('retry-after')], [503, 'CONFIG_ERROR', '1'])
      assert.match(message, name)
    }
  })
})

describe('a RETURNING clause', () => {
  const cases: readonly (readonly [string, string, readonly (readonly [string, string] | '*')[]])[] = [
    ['INSERT INTO t (a) VALUES (?1) RETURNING *', 't', ['*']],
    [
      'INSERT INTO "my t" DEFAULT VALUES returning id, a AS b;',
      '"my t"',
      [
        ['id', 'id'],
        ['a', 'b'],
      ],
    ],
    [
      'UPDATE OR IGNORE main.t SET a = 1 RETURNING "a b", [c d] x, `e`',
      'main.t',
      [
        ['"a b"', 'a b'],
        ['[c d]', 'x'],
        ['`e`', 'e'],
      ],
    ],
    [
      "DELETE FROM t WHERE a = 'RETURNING' RETURNING count(a, ')'), a IS NULL, a || 'x' 'y z'",
      't',
      [
        ["count(a, ')')", "count(a, ')')"],
        ['a IS NULL', 'a IS NULL'],
        ["a || 'x'", 'y z'],
      ],
    ],
    [
      'WITH w AS (DELETE) INSERT INTO t SELECT 1 RETURNING t.id, CASE WHEN a THEN 1 END, (SELECT max(a), 1) AS m -- end',
      't',
      [
        ['t.id', 'id'],
        ['CASE WHEN a THEN 1 END', 'CASE WHEN a THEN 1 END'],
        ['(SELECT max(a), 1)', 'm'],
      ],
    ],
  ]
  for (const [sql, table, items] of cases) {
    it(`of ${sql}`, () => {
      const found = returningOf(sql)
      assert.equal(found?.table, table)
      assert.deepEqual(
        found?.items.map((item) => (item === '*' ? item : [item.expression.trim(), item.name])),
        items,
      )
    })
  }

  it('is not found inside parentheses or in a string', () => {
    assert.equal(returningOf('INSERT INTO t VALUES (\'RETURNING *\', ("RETURNING"))'), undefined)
  })
})
