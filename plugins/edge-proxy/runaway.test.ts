import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { health } from 'zin/plugins/health'
import { createTestHost, type TestHost } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { edgeProxy } from './index.js'
import { type EdgeClient, edgeClient, type Reply, testSecret } from './testing/edge-client.js'
import { isBeingWritten, runaway } from './testing/runaway.js'
import { countOf } from './testing/sql-mode.js'

const env = { NODE_ENV: 'test', PORT: '0', LOG_REQUESTS: 'false', EDGE_REMOTE_SECRET: testSecret, EDGE_REMOTE_MODE: 'sql' }

interface App {
  readonly host: TestHost
  readonly client: EdgeClient
  readonly file: string
  /** Sends a request with a statement that never ends; resolves when it runs. */
  run(path: string, body: unknown): Promise<{ readonly reply: Promise<Reply> }>
}

async function app(t: TestContext): Promise<App> {
  const step = cleanUp(t)
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-edge-'))
  step(() => rm(dataDir, { recursive: true, force: true, maxRetries: 3 }))
  const host = await createTestHost({
    plugins: [health(), edgeProxy()],
    env,
    dataDir,
    listen: true,
    shutdown: { deadlineMs: 1_000 },
  })
  step(() => host.stop())
  const client = edgeClient(host.url)
  const file = join(dataDir, 'edge.db')
  assert.equal((await client.call('exec', { sql: 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)' })).status, 200)
  return {
    host,
    client,
    file,
    async run(path, body) {
      const reply = client.call(path, body)
      await eventually('the statement runs', () => isBeingWritten(file))
      return { reply }
    },
  }
}

describe('a statement of the edge proxy in Node that takes too long', () => {
  it('is killed with 504 while other routes respond, and releases the database', async (t) => {
    const { client, host, run } = await app(t)
    const { reply } = await run('query', { sql: runaway, options: { timeoutMs: 1_500 } })
    const order: string[] = []
    const late = reply.finally(() => order.push('statement'))
    const live = await fetch(`${host.url}/health/live`)
    order.push('live')
    const { status, body } = await late
    assert.deepEqual([live.status, order], [200, ['live', 'statement']])
    assert.deepEqual([status, body.code, body.details], [504, 'QUERY_TIMEOUT', { outcome: 'cancelled' }])
    assert.equal(await countOf(client, 't'), 0)
  })

  it('rolls back its batch', async (t) => {
    const { client } = await app(t)
    const statements = [{ sql: 'INSERT INTO t (v) VALUES (1)' }, { sql: `INSERT INTO t (v) ${runaway}` }, { sql: 'DELETE FROM t' }]
    const { status, body } = await client.call('batch', { statements, options: { timeoutMs: 200 } })
    assert.deepEqual([status, body.code, body.committed, body.details], [504, 'QUERY_TIMEOUT', false, { outcome: 'cancelled' }])
    assert.equal(await countOf(client, 't'), 0)
    assert.equal((await client.call('exec', { sql: 'INSERT INTO t (v) VALUES (1)' })).status, 200)
    assert.equal(await countOf(client, 't'), 1)
  })

  it('cannot be replayed', async (t) => {
    const { client } = await app(t)
    const signed = await client.sign('query', { sql: runaway, options: { timeoutMs: 100 } })
    assert.deepEqual([(await signed.send()).status, (await signed.send()).status], [504, 401])
  })

  it('lets waiting requests run, or responds within their time limit that they have not run', async (t) => {
    const { client, run } = await app(t)
    const { reply } = await run('query', { sql: runaway, options: { timeoutMs: 1_500 } })
    const insert = (v: string, timeoutMs: number): Promise<Reply> =>
      client.call('exec', { sql: 'INSERT INTO t (v) VALUES (?)', params: [v], options: { timeoutMs } })
    const order: string[] = []
    const noted = (name: string, sent: Promise<Reply>): Promise<Reply> => sent.finally(() => order.push(name))
    const [late, refused, served] = await Promise.all([noted('late', reply), noted('refused', insert('a', 50)), insert('b', 30_000)])
    assert.deepEqual(order, ['refused', 'late'])
    assert.deepEqual([late.status, served.status], [504, 200])
    assert.deepEqual([refused.status, refused.body.code, refused.body.retryable], [503, 'POOL_EXHAUSTED', true], refused.text)
    assert.deepEqual((await client.call('query', { sql: 'SELECT v FROM t' })).body.rows, [{ v: 'b' }])
  })

  it('does not block a shutdown, which leaves no process behind', async (t) => {
    const { file, host, run } = await app(t)
    const { reply } = await run('query', { sql: runaway, options: { timeoutMs: 30_000 } })
    const cut = assert.rejects(reply)
    await assert.rejects(
      host.stop(),
      /^Error: the host did not stop cleanly: http: cut 1 connection\(s\) whose requests did not finish in time$/,
    )
    await cut
    assert.equal(isBeingWritten(file), false)
  })
})

describe('the database process of the edge proxy in Node', () => {
  it('refuses results that are too large for a response', async (t) => {
    const { client } = await app(t)
    const rows = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1000) SELECT printf('%.*c', 100000, 'x') AS v FROM c"
    const read = await client.call('query', { sql: rows })
    assert.deepEqual([read.status, read.body.code, read.body.details.bytes], [422, 'RESULT_TOO_LARGE', undefined], read.text)
    const written = await client.call('exec', { sql: `INSERT INTO t (v) ${rows} RETURNING v` })
    assert.deepEqual([written.status, written.body.code], [422, 'RESULT_TOO_LARGE'], written.text)
    const statements = [{ sql: 'INSERT INTO t (v) VALUES (1)' }, { sql: rows }]
    const batch = await client.call('batch', { statements })
    assert.deepEqual([batch.status, batch.body.code, batch.body.failedIndex], [422, 'RESULT_TOO_LARGE', 1], batch.text)
    assert.equal(await countOf(client, 't'), 0)
    assert.equal((await client.call('exec', { sql: 'INSERT INTO t (v) VALUES (1)' })).status, 200)
  })

  it('is killed and restarted when a statement uses too much memory', async (t) => {
    const { client } = await app(t)
    const rows = 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 24)'
    const sql = `${rows} SELECT length(group_concat(hex(zeroblob(20000000)), '')) AS v FROM c`
    const { status, body } = await client.call('query', { sql, options: { timeoutMs: 30_000 } })
    assert.deepEqual([status, body.code, body.retryable, body.details], [503, 'DB_UNAVAILABLE', false, { outcome: 'cancelled' }])
    assert.equal(await countOf(client, 't'), 0)
  })

  it('is unavailable while it cannot be started, and recovers', async (t) => {
    const { client, file } = await app(t)
    await rename(file, `${file}.aside`)
    await mkdir(file)
    assert.equal((await client.call('query', { sql: runaway, options: { timeoutMs: 100 } })).status, 504)
    const { status, body } = await client.call('exec', { sql: 'INSERT INTO t (v) VALUES (1)', options: { timeoutMs: 1_000 } })
    assert.deepEqual([status, body.code, body.retryable, body.details], [503, 'DB_UNAVAILABLE', true, { outcome: 'cancelled' }])
    await rmdir(file)
    await rename(`${file}.aside`, file)
    assert.equal((await client.call('exec', { sql: 'INSERT INTO t (v) VALUES (2)', options: { timeoutMs: 30_000 } })).status, 200)
    assert.deepEqual((await client.call('query', { sql: 'SELECT v FROM t' })).body.rows, [{ v: 2 }])
  })

  it('refuses to start an app whose file is not a database, with the message of SQLite', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-edge-'))
    t.after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 3 }))
    await writeFile(join(dataDir, 'edge.db'), 'this is no database, but a text that is long enough to be looked at as one'.repeat(20))
    await assert.rejects(createTestHost({ plugins: [edgeProxy()], env, dataDir }), /edge\.db: file is not a database/)
  })
})
