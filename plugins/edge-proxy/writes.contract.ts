import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countOf, type SqlMode } from './testing/sql-mode.js'

/** Checks that no write runs twice, partially, or on a reading path. */
export function describeWrites({ client, exec }: SqlMode): void {
  it('runs a signed INSERT once, however often it arrives', async () => {
    await exec('CREATE TABLE once (id INTEGER PRIMARY KEY)')
    const signed = await client.sign('exec', { sql: 'INSERT INTO once DEFAULT VALUES' })
    assert.equal((await signed.send()).status, 200)
    assert.equal((await signed.send()).status, 401)
    assert.equal(await countOf(client, 'once'), 1)

    const racing = await client.sign('exec', { sql: 'INSERT INTO once DEFAULT VALUES' })
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => racing.send()))).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, ...Array(19).fill(401)])
    assert.equal(await countOf(client, 'once'), 2)
  })

  it('explains a write without running it, and can still write afterwards', async () => {
    await exec('CREATE TABLE planned (id INTEGER PRIMARY KEY)')
    for (const sql of ['EXPLAIN QUERY PLAN DELETE FROM planned', '/* a plan */ EXPLAIN DELETE FROM planned WHERE id = ?']) {
      const { status, text } = await client.call('exec', { sql, params: sql.endsWith('?') ? [1] : [] })
      assert.equal(status, 200, text)
      await exec('INSERT INTO planned DEFAULT VALUES')
    }
    assert.equal(await countOf(client, 'planned'), 2)
  })

  it('does not run a failed request later', async () => {
    await exec('CREATE TABLE late (id INTEGER PRIMARY KEY)')
    await exec('INSERT INTO late VALUES (1)')
    const signed = await client.sign('exec', { sql: 'INSERT INTO late VALUES (1)' })
    assert.equal((await signed.send()).status, 409)
    await exec('DELETE FROM late')
    assert.equal((await signed.send()).status, 401)
    assert.equal(await countOf(client, 'late'), 0)
  })

  const writes = [
    "INSERT INTO t (name) VALUES ('w')",
    "REPLACE INTO t (id, name) VALUES (1, 'w')",
    "UPDATE t SET name = 'w'",
    'DELETE FROM t',
    "INSERT INTO t (name) VALUES ('w') RETURNING id",
    "WITH x AS (SELECT 'w' AS n) INSERT INTO t (name) SELECT n FROM x",
    'WITH x AS (SELECT 1) DELETE FROM t',
    "WITH RECURSIVE x(n) AS (SELECT 1) UPDATE t SET name = 'w'",
    'CREATE TABLE w (a)',
    'DROP TABLE t',
    'ALTER TABLE t RENAME TO w',
    'CREATE VIEW w AS SELECT 1',
    '/* SELECT */ DELETE FROM t',
    '-- SELECT\nDELETE FROM t',
    '; DELETE FROM t',
    'VACUUM',
    'REINDEX',
    'ANALYZE',
    'PRAGMA user_version = 7',
    "ATTACH ':memory:' AS m",
    'SAVEPOINT a',
    'SELECT 1; DELETE FROM t',
    'SELECT 1 /* ; */ ; DELETE FROM t --',
    'SELECT 1) LIMIT 0; DELETE FROM t; SELECT * FROM (SELECT 1',
    'SELECT 1) DELETE FROM t --',
    "SELECT 1) , x AS (SELECT 1) INSERT INTO t (name) SELECT 'w' /*",
    "SELECT 1) INSERT INTO t (name) SELECT 'w' FROM (SELECT 1",
    'SELECT 1 AS a) INSERT INTO t (name) SELECT a FROM zin_rows --',
  ]
  it('never writes on the reading paths', async () => {
    const state = async (): Promise<string> =>
      (
        await client.call('query', {
          sql: "SELECT id, name FROM t UNION ALL SELECT 0, name FROM sqlite_schema WHERE name NOT LIKE 'zin%' ORDER BY 1, 2",
        })
      ).text.replace(/"meta".*/, '')
    const before = await state()
    for (const path of ['query', 'queryOne']) {
      for (const sql of writes) {
        const { status } = await client.call(path, { sql })
        assert.ok(status === 403 || status === 400, `${status} for ${sql}`)
        assert.equal(await state(), before, sql)
      }
    }
  })

  it('runs all of a batch or none, and names the failed statement', async () => {
    await exec('CREATE TABLE b (id INTEGER PRIMARY KEY)')
    for (const failing of [0, 1, 3, 6]) {
      const batch = Array.from({ length: 7 }, (_, index) => ({
        sql: 'INSERT INTO b (id) VALUES (?)',
        params: [index === failing ? 'x' : index],
      }))
      const { status, body } = await client.call('batch', { statements: batch })
      assert.deepEqual([status, body.committed, body.failedIndex, body.details.failedIndex], [body.status, false, failing, failing])
      assert.equal(await countOf(client, 'b'), 0)
    }
    const invalid = await client.call('batch', {
      statements: [{ sql: 'INSERT INTO b (id) VALUES (1)' }, { sql: 'SELECT ?', params: [] }],
    })
    assert.deepEqual([invalid.status, invalid.body.details.failedIndex], [400, 1])
    assert.equal(await countOf(client, 'b'), 0)
  })

  it('runs a write with an idempotency key once, and replays its response', async () => {
    await exec('CREATE TABLE i (id INTEGER PRIMARY KEY, v UNIQUE)')
    const write = { sql: 'INSERT INTO i (v) VALUES (?)', params: ['a'], options: { idempotencyKey: 'order-1' } }
    const first = await client.call('exec', write)
    const again = await client.call('exec', write)
    assert.deepEqual([first.status, again.status, first.body.meta.replayed, again.body.meta.replayed], [200, 200, false, true])
    assert.deepEqual([again.body.rowCount, again.body.lastInsertId], [first.body.rowCount, first.body.lastInsertId])
    const other = await client.call('exec', { ...write, params: ['b'] })
    assert.deepEqual([other.status, other.body.code], [409, 'IDEMPOTENCY_MISMATCH'])
    const stranger = await client.call('exec', { ...write, params: ['c'] }, { keyId: 'another-caller' })
    assert.equal(stranger.status, 200)

    const batch = {
      statements: [{ sql: "INSERT INTO i (v) VALUES ('d') RETURNING *" }, { sql: 'SELECT count(*) AS n FROM i', one: true }],
      options: { idempotencyKey: 'order-2' },
    }
    const [one, two] = [await client.call('batch', batch), await client.call('batch', batch)]
    assert.deepEqual(two.body.results[0].rows, one.body.results[0].rows, two.text)
    assert.deepEqual([two.body.results[1].row, two.body.meta.replayed], [{ n: 3 }, true])
    assert.equal(await countOf(client, 'i'), 3)

    const racing = { sql: "INSERT INTO i (v) VALUES ('race')", options: { idempotencyKey: 'order-3' } }
    const replies = await Promise.all(Array.from({ length: 10 }, () => client.call('exec', racing)))
    assert.deepEqual(
      replies.map(({ status }) => status),
      Array(10).fill(200),
    )
    assert.equal(replies.filter(({ body }) => body.meta.replayed === false).length, 1)
  })

  it('releases the idempotency key of a failed write', async () => {
    await exec('CREATE TABLE f (id INTEGER PRIMARY KEY)')
    await exec('INSERT INTO f VALUES (1)')
    const write = { sql: 'INSERT INTO f VALUES (?)', params: [1], options: { idempotencyKey: 'failed' } }
    assert.equal((await client.call('exec', write)).status, 409)
    await exec('DELETE FROM f')
    assert.deepEqual((await client.call('exec', write)).body.meta.replayed, false)
  })
}
