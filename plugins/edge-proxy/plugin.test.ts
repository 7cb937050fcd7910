import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createTestHost, type TestHost } from 'zin/testing'
import { edgeProxy } from './index.js'
import { openSqliteBinding } from './local/sqlite-binding.js'
import { edgeClient, testSecret } from './testing/edge-client.js'
import { statements } from './testing/statements.js'

const settings = { NODE_ENV: 'test', PORT: '0', EDGE_REMOTE_SECRET: testSecret, EDGE_REMOTE_MODE: 'sql' }

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}, options = {}): Promise<TestHost> {
  const host = await createTestHost({ plugins: [edgeProxy(options)], env: { ...settings, ...env }, listen: true })
  t.after(() => host.stop())
  return host
}

describe('edgeProxy() in an app', () => {
  it('serves the routes of the proxy with a file in the data folder', async (t) => {
    const host = await started(t)
    const client = edgeClient(host.url)
    assert.equal((await client.call('exec', { sql: 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)' })).status, 200)
    const signed = await client.sign('exec', { sql: 'INSERT INTO t (v) VALUES (?)', params: [{ $type: 'blob', base64: 'AP8=' }] })
    assert.deepEqual((await signed.send()).body.lastInsertId, '1')
    assert.deepEqual(
      [(await signed.send()).status, (await client.call('query', { sql: 'SELECT 1 AS a' }, { secret: 'x' })).status],
      [401, 401],
    )
    const { body, headers } = await client.call('query', { sql: 'SELECT * FROM t' })
    assert.deepEqual(body.rows, [{ id: 1, v: { $type: 'blob', base64: 'AP8=' } }])
    assert.equal(body.meta.requestId, headers.get('x-request-id'))
    const batch = await client.call('batch', { statements: [{ sql: 'DELETE FROM t' }, { sql: 'SELECT count(*) AS n FROM t', one: true }] })
    assert.deepEqual(batch.body.results[1].row, { n: 0 })
    assert.ok(!host.logText().includes(testSecret))
  })

  it('refuses bodies over the limit, and other content types, methods and paths', async (t) => {
    const client = edgeClient((await started(t)).url)
    const large = await client.call('query', ' '.repeat(131_073))
    assert.deepEqual([large.status, large.body.code], [413, 'PAYLOAD_TOO_LARGE'])
    assert.equal((await client.call('query', '{}', { headers: { 'content-type': 'text/plain' } })).status, 415)
    assert.equal((await client.call('query', '', { method: 'GET' })).status, 405)
    assert.equal((await client.call('nothing', {})).status, 404)
    // The body of an unauthenticated request is not read.
    const stranger = await client.call('query', ' '.repeat(200_000), { secret: 'x' })
    assert.equal(stranger.status, 401)
  })

  it('uses a binding of the app and registered statements', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'zin-edge-'))
    const binding = await openSqliteBinding(join(folder, 'own.db'))
    t.after(async () => {
      await binding.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    })
    const client = edgeClient((await started(t, { EDGE_REMOTE_MODE: 'registry', EDGE_STATEMENTS_JSON: statements }, { binding })).url)
    assert.equal((await client.call('statement', { statementId: 'make.items' })).status, 200)
    assert.equal((await client.call('statement', { statementId: 'item.add', params: ['a', 1] })).status, 200)
    const rows = await binding.prepare('SELECT name FROM items').raw({ columnNames: true })
    assert.deepEqual(rows, [['name'], ['a']])
  })

  it('does not start with invalid or unsafe settings, and names them', async () => {
    for (const [env, message] of [
      [{ EDGE_REMOTE_SECRET: '' }, /EDGE_REMOTE_SECRET is not set, and neither is APP_KEY/],
      [{ EDGE_STATEMENTS_JSON: '{"a":1}' }, /EDGE_STATEMENTS_JSON: .*"a"/],
      [{ EDGE_REMOTE_SECRET: 'short', NODE_ENV: 'production' }, /EDGE_REMOTE_SECRET has 5 bytes; production requires 32/],
    ] as const)
      await assert.rejects(createTestHost({ plugins: [edgeProxy()], env: { ...settings, ...env } }), message)
  })
})
