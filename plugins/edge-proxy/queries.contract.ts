import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SqlMode } from './testing/sql-mode.js'

/** Checks the responses to queries, writes and batches in sql mode. */
export function describeQueries({ client, exec }: SqlMode): void {
  it('serves query, queryOne, exec, statement and batch', async () => {
    const query = await client.call('query', { sql: 'SELECT id, name FROM t WHERE n <= ? ORDER BY id', params: [2] })
    assert.equal(query.status, 200)
    assert.deepEqual(
      [query.body.ok, query.body.rowCount, query.body.rows],
      [
        true,
        2,
        [
          { id: 1, name: 'ada' },
          { id: 2, name: 'grace' },
        ],
      ],
    )
    assert.deepEqual(query.body.columns, [
      { name: 'id', type: 'dynamic' },
      { name: 'name', type: 'dynamic' },
    ])
    assert.equal(query.body.meta.requestId, query.headers.get('x-request-id'))
    assert.equal(query.headers.get('cache-control'), 'no-store')

    const one = await client.call('queryOne', { sql: 'SELECT name FROM t ORDER BY id' })
    assert.deepEqual([one.body.row, one.body.meta.multiple], [{ name: 'ada' }, true])
    const none = await client.call('queryOne', { sql: 'SELECT name FROM t WHERE id = ?', params: [99] })
    assert.deepEqual([none.body.row, none.body.columns], [null, [{ name: 'name', type: 'dynamic' }]])

    const exec = await client.call('exec', {
      sql: 'INSERT INTO t (id, name) VALUES (?, ?)',
      params: [{ $type: 'int64', value: '9007199254740993' }, 'far'],
    })
    assert.deepEqual([exec.body.rowCount, exec.body.lastInsertId, exec.body.meta.changes], [1, '9007199254740993', 1])
    const removed = await client.call('exec', { sql: "DELETE FROM t WHERE name = 'far'" })
    assert.deepEqual([removed.body.rowCount, removed.body.lastInsertId], [1, null])

    const registered = await client.call('statement', { statementId: 'make.items' })
    assert.equal(registered.status, 200, registered.text)
    const batch = await client.call('batch', {
      statements: [
        { sql: 'INSERT INTO t (name) VALUES (?)', params: ['batch'] },
        { sql: 'SELECT count(*) AS n FROM t', one: true },
        { sql: "DELETE FROM t WHERE name = 'batch'" },
      ],
    })
    assert.equal(batch.body.committed, true, batch.text)
    assert.deepEqual(batch.body.results[1].row, { n: 3 })
    assert.deepEqual([batch.body.results[0].rowCount, batch.body.results[2].rowCount], [1, 1])
  })

  it('accepts requests exactly at the limits', async () => {
    const params = Array.from({ length: 100 }, (_, index) => index)
    const sum = `SELECT sum(column1) AS sum FROM (VALUES ${params.map(() => '(?)').join(', ')})`
    const most = await client.call('query', { sql: sum, params })
    assert.deepEqual(most.body.rows, [{ sum: 4950 }], most.text)
    const sql = `SELECT '${'x'.repeat(32_768 - 14)}' x`.padEnd(32_768, ' ')
    assert.equal((await client.call('query', { sql: sql.slice(0, 32_768) })).status, 200)
    const numbers = "SELECT value FROM json_each('[' || rtrim(replace(hex(zeroblob(?)), '0', '1,'), ',') || ']')"
    // Two hex digits per byte.
    const rows = await client.call('query', { sql: numbers, params: [5000] })
    assert.equal(rows.body.rowCount, 10_000, rows.text.slice(0, 300))
    const over = await client.call('query', { sql: numbers, params: [5001] })
    assert.deepEqual([over.status, over.body.code, over.body.details.limit], [422, 'RESULT_TOO_LARGE', 10_000])
    const batch = await client.call('batch', { statements: Array(50).fill({ sql: 'SELECT 1 AS one' }) })
    assert.equal(batch.body.results?.length, 50, batch.text.slice(0, 300))
  })

  it('returns exact rows with RETURNING', async () => {
    await exec('CREATE TABLE r (id INTEGER PRIMARY KEY, "a b" TEXT, v)')
    const { body, text } = await client.call('exec', {
      sql: 'INSERT INTO r ("a b", v) VALUES (?, ?), (?, ?) RETURNING *, id AS "x""y", v v2, typeof(v), coalesce(v, \'a,b)\') -- the end',
      params: ['one', { $type: 'int64', value: '-9223372036854775808' }, null, { $type: 'real', value: 'Infinity' }],
    })
    assert.equal(body.ok, true, text)
    const [low, infinite] = [
      { $type: 'int64', value: '-9223372036854775808' },
      { $type: 'real', value: 'Infinity' },
    ]
    const names = ['id', 'a b', 'v', 'x"y', 'v2', 'typeof(v)']
    assert.deepEqual(
      body.columns.slice(0, 6).map(({ name }: { name: string }) => name),
      names,
    )
    assert.deepEqual(
      body.rows.map((row: Record<string, unknown>) => names.map((name) => row[name])),
      [
        [1, 'one', low, 1, low, 'integer'],
        [2, null, infinite, 2, infinite, 'real'],
      ],
    )
  })

  it('keeps columns with the same name in rows as arrays', async () => {
    const { body } = await client.call('query', { sql: 'SELECT 1 AS a, 2 AS a, 3 AS b', options: { rowMode: 'array' } })
    assert.deepEqual([body.rows, body.columns.map(({ name }: { name: string }) => name)], [[[1, 2, 3]], ['a', 'a', 'b']])
  })

  it('follows schema changes', async () => {
    await exec('CREATE TABLE s (a)')
    await exec('INSERT INTO s VALUES (1)')
    const all = { sql: 'SELECT * FROM s' }
    assert.deepEqual((await client.call('query', all)).body.rows, [{ a: 1 }])
    await exec('ALTER TABLE s ADD COLUMN b DEFAULT 2')
    assert.deepEqual((await client.call('query', all)).body.rows, [{ a: 1, b: 2 }])
    await exec('DROP TABLE s')
    assert.equal((await client.call('query', all)).body.code, 'SQL_ERROR')
  })
}
