import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { databaseContract } from './database.contract.js'
import { type Database, database, databaseService } from './index.js'

const secret = randomUUID()
const proxyHost = (env: Readonly<Record<string, string>> = {}): Promise<TestHost> =>
  createTestHost({
    plugins: [edgeProxy()],
    env: { EDGE_REMOTE_SECRET: secret, EDGE_REMOTE_MODE: 'sql', EDGE_RATE_PER_MINUTE: '0', ...env },
    listen: true,
  })
const appEnv = (url: string, more: Readonly<Record<string, string>> = {}) => ({
  DB_CONNECTION: 'edge-remote',
  EDGE_REMOTE_URL: url,
  EDGE_REMOTE_KEY_ID: 'app',
  EDGE_REMOTE_SECRET: secret,
  EDGE_REMOTE_MODE: 'sql',
  ...more,
})

databaseContract('the edge proxy', async () => {
  const proxy = await proxyHost()
  return {
    config: {
      name: 'default',
      driver: 'edge-remote',
      url: proxy.url,
      keyId: 'app',
      secret,
      mode: 'sql',
      headers: {},
      headerPrefix: 'x-sig-',
      poolLimit: 3,
    },
    transactions: false,
    clean: async () => {
      await proxy.stop()
    },
  }
})

describe('a database behind the edge proxy', () => {
  let proxy: TestHost
  before(async () => {
    proxy = await proxyHost()
  })
  after(() => proxy.stop())
  const boot = (more: Readonly<Record<string, string>> = {}) => createTestHost({ plugins: [database()], env: appEnv(proxy.url, more) })

  it('belongs to one app', async () => {
    const claim = async (APP_NAME: string): Promise<void> => {
      const host = await boot({ APP_NAME })
      await host
        .service(databaseService)
        .migrations.status()
        .finally(() => host.stop())
    }
    await claim('shop')
    await claim('shop')
    await assert.rejects(claim('blog'), /belongs to the app "shop"/)
  })

  it('names the cause when the proxy refuses the boot', async () => {
    await assert.rejects(boot({ EDGE_REMOTE_SECRET: 'another-canary' }), (error) => {
      assert.match(String(error), /UNAUTHORIZED.*EDGE_REMOTE_KEY_ID and EDGE_REMOTE_SECRET/)
      assert.doesNotMatch(String(error), /canary/)
      return true
    })
  })

  it('sends queries as the hash of their SQL in registry mode, and migrations as SQL', async () => {
    const statements = { version: 1, hashIds: true, statements: { all: 'select * from "zin_migrations"' } }
    const registry = await proxyHost({ EDGE_STATEMENTS_JSON: JSON.stringify(statements) })
    const host = await createTestHost({ plugins: [database()], env: appEnv(registry.url, { EDGE_REMOTE_MODE: 'registry' }) })
    const db = host.service(databaseService)
    assert.deepEqual(await db.migrations.status(), [])
    assert.ok(Number.isInteger(await db.ping()))
    assert.deepEqual(await db.tables().selectFrom('zin_migrations').selectAll().execute(), [])
    await assert.rejects(db.tables().selectFrom('zin_app').selectAll().execute(), {
      code: 'DATABASE_STATEMENT_UNREGISTERED',
      message: /select \* from "zin_app".*hashIds/,
    })
    await host.stop()
    await registry.stop()
    const strict = await proxyHost({ EDGE_REMOTE_MODE: 'registry' })
    const other = await createTestHost({ plugins: [database()], env: appEnv(strict.url, { EDGE_REMOTE_MODE: 'registry' }) })
    await assert.rejects(other.service(databaseService).migrations.status(), {
      code: 'DATABASE_CONFIG',
      message: /sql mode while migrations/,
    })
    await other.stop()
    await strict.stop()
  })

  it('fails with a 503 while the proxy is down, and works again when it is back', async () => {
    const first = await proxyHost()
    const host = await createTestHost({ plugins: [database()], env: appEnv(first.url, { DB_STATEMENT_TIMEOUT_MS: '2000' }) })
    const db: Database = host.service(databaseService)
    const port = new URL(first.url).port
    await first.stop()
    const error = await db
      .ping()
      .then(() => assert.fail('it responded'))
      .catch((thrown: unknown) => thrown)
    assert.deepEqual([(error as { code: string }).code, (error as { status: number }).status], ['DATABASE_UNAVAILABLE', 503])
    assert.equal(db.isUnavailable(error), true)
    assert.equal(db.connected, false)
    const second = await proxyHost({ PORT: port })
    assert.ok(Number.isInteger(await db.ping()))
    assert.equal(db.connected, true)
    await host.stop()
    await second.stop()
  })
})
