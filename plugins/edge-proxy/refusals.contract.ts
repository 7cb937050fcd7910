import assert from 'node:assert/strict'
import { it } from 'node:test'
import { wireErrors } from 'zin/plugins/sql-wire'
import { countOf, type SqlMode } from './testing/sql-mode.js'

/** What would change the connection that all callers share, or shows its file; refused in any position and words, on every path. */
const ofConnection: readonly string[] = [
  'PRAGMA query_only = on',
  'PRAGMA ignore_check_constraints = on',
  'PRAGMA hard_heap_limit = 100000',
  'PRAGMA case_sensitive_like = on',
  'PRAGMA database_list',
  "ATTACH '/tmp/x.db' AS x",
  'DETACH main',
  "VACUUM INTO '/tmp/x.db'",
  'BEGIN',
  'CREATE TEMP TABLE t (id)',
  'CREATE TEMPORARY VIEW t AS SELECT 42 AS n',
  'CREATE TABLE temp.t (id)',
  'CREATE TABLE IF NOT EXISTS "Temp" /* */ . t (id)',
  'CREATE VIEW [temp].t AS SELECT 1',
  'CREATE VIRTUAL TABLE `temp`.t USING fts5(a)',
  'SELECT * FROM pragma_database_list',
  'SELECT * FROM "Pragma_Database_List"',
  "SELECT * FROM 'pragma_optimize'",
  'SELECT * FROM [pragma_compile_options]',
]
const prefixes = ['', 'EXPLAIN ', 'explain query plan ', '/* a */ EXPLAIN -- b\n', ';EXPLAIN/**/QUERY/**/PLAN ']

/** Checks which requests are refused, with which code, and that none of them runs. */
export function describeRefusals({ client, exec }: SqlMode): void {
  const long = 'x'.repeat(32_768)
  const refusals: readonly (readonly [string, string, unknown, keyof typeof wireErrors])[] = [
    ['text that is not JSON', 'query', '{"sql":', 'INVALID_JSON'],
    ['bytes that are not UTF-8', 'query', new Uint8Array([0x22, 0xff, 0x22]), 'INVALID_JSON'],
    ['an array', 'query', [], 'VALIDATION_ERROR'],
    ['an unknown field', 'query', { sql: 'SELECT 1', retry: true }, 'VALIDATION_ERROR'],
    ['an unknown option', 'query', { sql: 'SELECT 1', options: { cache: 1 } }, 'VALIDATION_ERROR'],
    ['SQL and an id', 'query', { sql: 'SELECT 1', statementId: 'a' }, 'VALIDATION_ERROR'],
    ['SQL on the path for registered statements', 'statement', { sql: 'SELECT 1' }, 'VALIDATION_ERROR'],
    ['an object as a parameter', 'query', { sql: 'SELECT ?', params: [{ password: 1 }] }, 'INVALID_PARAM'],
    ['an array as a parameter', 'query', { sql: 'SELECT ?', params: [[1, 2]] }, 'INVALID_PARAM'],
    ['an untagged integer beyond 2^53', 'query', '{"sql":"SELECT ?","params":[9007199254740993]}', 'INVALID_PARAM'],
    [
      'an integer beyond 64 bits',
      'query',
      { sql: 'SELECT ?', params: [{ $type: 'int64', value: '9223372036854775808' }] },
      'INVALID_PARAM',
    ],
    [
      'an unsigned integer that SQLite cannot hold',
      'query',
      { sql: 'SELECT ?', params: [{ $type: 'uint64', value: '9223372036854775808' }] },
      'INVALID_PARAM',
    ],
    ['NaN', 'query', { sql: 'SELECT ?', params: [{ $type: 'real', value: 'NaN' }] }, 'INVALID_PARAM'],
    ['a lone surrogate', 'query', '{"sql":"SELECT ?","params":["\\ud800"]}', 'INVALID_PARAM'],
    ['too few parameters', 'query', { sql: 'SELECT ?, ?', params: [1] }, 'INVALID_PARAM'],
    ['too many parameters', 'query', { sql: 'SELECT ?', params: [1, 2] }, 'INVALID_PARAM'],
    ['101 parameters', 'query', { sql: 'SELECT 1', params: Array(101).fill(1) }, 'TOO_MANY_PARAMS'],
    ['SQL of more than 32 KiB', 'query', { sql: `SELECT '${long}'` }, 'SQL_TOO_LARGE'],
    ['two statements', 'query', { sql: 'SELECT 1; SELECT 2' }, 'MULTIPLE_STATEMENTS'],
    ['two statements, one of them a write', 'exec', { sql: 'SELECT 1; DELETE FROM t' }, 'MULTIPLE_STATEMENTS'],
    ['a named placeholder', 'query', { sql: 'SELECT :id', params: [1] }, 'SQL_ERROR'],
    ['only a comment', 'query', { sql: '-- nothing' }, 'SQL_ERROR'],
    ['an unterminated comment', 'query', { sql: 'SELECT 1 /* and on' }, 'SQL_ERROR'],
    ['unbalanced parentheses', 'query', { sql: 'SELECT (1' }, 'SQL_ERROR'],
    ['an unterminated string', 'query', { sql: "SELECT 'a" }, 'SQL_ERROR'],
    ['words that are not SQL', 'query', { sql: 'SELEC 1' }, 'SQL_ERROR'],
    ['a missing table', 'query', { sql: 'SELECT * FROM nowhere' }, 'SQL_ERROR'],
    ['a write with a syntax error', 'exec', { sql: 'INSERT INTO t VALUE (1)' }, 'SQL_ERROR'],
    ['two columns with the same name as objects', 'query', { sql: 'SELECT 1 AS a, 2 AS a' }, 'DUPLICATE_COLUMN'],
    ['an unregistered statement', 'query', { statementId: 'nothing' }, 'UNKNOWN_STATEMENT'],
    ['a statement named __proto__', 'query', { statementId: '__proto__' }, 'UNKNOWN_STATEMENT'],
    ['a statement named constructor', 'query', { statementId: 'constructor' }, 'UNKNOWN_STATEMENT'],
    ['a duplicate name', 'exec', { sql: "INSERT INTO t (name) VALUES ('ada')" }, 'CONSTRAINT_VIOLATION'],
    ['a value that violates a check', 'exec', { sql: 'INSERT INTO t (n) VALUES (1000)' }, 'CONSTRAINT_VIOLATION'],
    ['a missing parent', 'exec', { sql: 'INSERT INTO t (parent) VALUES (99)' }, 'CONSTRAINT_VIOLATION'],
    ['PRAGMA', 'exec', { sql: 'PRAGMA writable_schema = 1' }, 'STATEMENT_NOT_ALLOWED'],
    ['ATTACH', 'exec', { sql: "ATTACH ':memory:' AS m" }, 'STATEMENT_NOT_ALLOWED'],
    ['VACUUM', 'exec', { sql: 'VACUUM' }, 'STATEMENT_NOT_ALLOWED'],
    ['BEGIN', 'exec', { sql: 'BEGIN' }, 'STATEMENT_NOT_ALLOWED'],
    ['a table of the proxy', 'exec', { sql: 'DELETE FROM zin_edge_nonces' }, 'STATEMENT_NOT_ALLOWED'],
    ['reading a table of the proxy', 'query', { sql: 'SELECT * FROM "Zin_Edge_receipts"' }, 'STATEMENT_NOT_ALLOWED'],
    ['a batch without statements', 'batch', { statements: [] }, 'VALIDATION_ERROR'],
    ['a batch of 51 statements', 'batch', { statements: Array(51).fill({ sql: 'SELECT 1' }) }, 'VALIDATION_ERROR'],
    ['a batch in mode sequence', 'batch', { statements: [{ sql: 'SELECT 1' }], options: { mode: 'sequence' } }, 'VALIDATION_ERROR'],
    ['a write in a read-only batch', 'batch', { statements: [{ sql: 'DELETE FROM t' }], options: { readOnly: true } }, 'READ_ONLY'],
    ['more rows than the option allows', 'query', { sql: 'SELECT * FROM t', options: { maxRows: 1 } }, 'RESULT_TOO_LARGE'],
    [
      'a result of more than 4 MiB',
      'query',
      { sql: `SELECT hex(zeroblob(100000)) AS x FROM json_each('[${Array(30).fill(1)}]')` },
      'RESULT_TOO_LARGE',
    ],
    [
      'a write that returns more rows than the option allows',
      'exec',
      { sql: 'UPDATE t SET n = n RETURNING id', options: { maxRows: 1 } },
      'RESULT_TOO_LARGE',
    ],
  ]
  for (const [what, path, body, code] of refusals) {
    it(`refuses ${what}: ${wireErrors[code].status} ${code}`, async () => {
      const rows = await countOf(client, 't')
      const { status, body: error, text } = await client.call(path, body)
      assert.deepEqual([error.code, status, error.status, error.ok], [code, wireErrors[code].status, status, false], text)
      assert.deepEqual([error.error, error.retryable], [wireErrors[code].title, wireErrors[code].retryable])
      assert.equal(typeof error.requestId, 'string')
      assert.equal(await countOf(client, 't'), rows)
    })
  }

  it('refuses whatever changes the connection, which all callers share, or shows its file: 403 STATEMENT_NOT_ALLOWED', async () => {
    for (const sql of ofConnection)
      for (const prefix of prefixes)
        for (const path of ['query', 'exec']) {
          const { status, body } = await client.call(path, { sql: `${prefix}${sql}` })
          assert.deepEqual([status, body.code], [403, 'STATEMENT_NOT_ALLOWED'], `${path} ${prefix}${sql}: ${JSON.stringify(body)}`)
        }
    await exec("INSERT INTO t (id, name) VALUES (99, 'still writable')")
    await exec('DELETE FROM t WHERE id = 99')
    assert.equal((await client.call('queryOne', { sql: "SELECT 'a' LIKE 'A' AS same" })).body.row.same, 1)
    assert.equal((await client.call('exec', { sql: 'INSERT INTO t (n) VALUES (1000)' })).body.code, 'CONSTRAINT_VIOLATION')
  })

  it('judges EXPLAIN by what it explains, and still describes tables', async () => {
    const rows = await countOf(client, 't')
    for (const sql of ['EXPLAIN DELETE FROM t', 'EXPLAIN QUERY PLAN UPDATE t SET n = 1', 'EXPLAIN WITH a AS (SELECT 1) DELETE FROM t']) {
      const { status, body } = await client.call('query', { sql })
      assert.deepEqual([status, body.code], [403, 'READ_ONLY'], sql)
      assert.ok((await client.call('exec', { sql })).body.rows.length > 0, sql)
    }
    assert.equal(await countOf(client, 't'), rows)
    assert.ok((await client.call('query', { sql: 'EXPLAIN QUERY PLAN SELECT * FROM t' })).body.rows.length > 0)
    const described = await client.call('query', {
      sql: "SELECT name FROM pragma_table_info('t') ORDER BY cid",
      options: { rowMode: 'array' },
    })
    assert.deepEqual(described.body.rows, [['id'], ['name'], ['n'], ['parent']])
  })

  it('refuses a body of more than 131072 bytes: 413 PAYLOAD_TOO_LARGE', async () => {
    const fits = JSON.stringify({ sql: 'SELECT 1 AS a', params: [] }).padEnd(131_072, ' ')
    assert.equal((await client.call('query', fits)).status, 200)
    const { status, body } = await client.call('query', `${fits} `)
    assert.deepEqual([status, body.code, body.details.limit], [413, 'PAYLOAD_TOO_LARGE', 131_072])
  })

  it('refuses other paths and methods', async () => {
    for (const path of ['/svc/edge/tx', '/svc/edge/query/', '/svc/edge/', '/', '/svc/rdb/query', '/svc/edge/QUERY']) {
      const { status, body } = await client.call(path, { sql: 'DELETE FROM t' })
      assert.deepEqual([status, body.code], [404, 'NOT_FOUND'], path)
    }
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, body, headers } = await client.call('query', { sql: 'SELECT 1' }, { method })
      assert.deepEqual([status, body.code, headers.get('allow')], [405, 'METHOD_NOT_ALLOWED', 'POST'], method)
    }
    assert.equal(
      (await client.call('query', { sql: 'SELECT 1' }, { headers: { 'content-type': 'text/plain' } })).body.code,
      'UNSUPPORTED_MEDIA_TYPE',
    )
  })

  it('responds to every signature fault with the same 401, and runs nothing', async () => {
    const body = { sql: "INSERT INTO t (name) VALUES ('forged')" }
    const signature = 'x-sig-signature'
    const other = JSON.stringify({ sql: 'DELETE FROM t' })
    const faults = [
      {
        headers: Object.fromEntries(
          ['key-id', 'timestamp', 'nonce', 'body-sha256', 'signature'].map((name) => [`x-sig-${name}`, undefined]),
        ),
      },
      ...['key-id', 'timestamp', 'nonce', 'body-sha256', 'signature'].map((name) => ({ headers: { [`x-sig-${name}`]: undefined } })),
      { secret: 'another secret' },
      { timestamp: Date.now() - 62_000 },
      { timestamp: Date.now() + 120_000 },
      { sent: other },
      { headers: { [signature]: '0'.repeat(64) } },
      { headers: { [signature]: 'Z'.repeat(64) } },
      { headers: { [signature]: '' } },
      { headers: { 'x-sig-nonce': 'short' } },
      { headers: { 'x-sig-timestamp': '1e12' } },
      { headers: { 'x-sig-device-id': 'somebody-else' } },
      { headers: { 'x-http-method-override': 'GET' } },
      { headers: { 'content-encoding': 'gzip' } },
    ]
    const texts = new Set<string>()
    for (const fault of faults) {
      const { status, text } = await client.call('exec', body, fault)
      assert.equal(status, 401, JSON.stringify(fault))
      texts.add(text)
    }
    const signed = await client.sign('exec', body)
    await signed.send()
    texts.add((await signed.send()).text)
    assert.equal(texts.size, 1, [...texts].join('\n'))
    assert.equal((await client.call('queryOne', { sql: "SELECT count(*) AS n FROM t WHERE name = 'forged'" })).body.row.n, 1)
    await exec("DELETE FROM t WHERE name = 'forged'")
  })
}
