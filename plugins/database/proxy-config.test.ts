import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTestHost } from 'zin/testing'
import { database } from './index.js'

const rdb = { DB_CONNECTION: 'rdb', USE_RDB_PROXY: 'true', RDB_PROXY_KEY_ID: 'app', RDB_PROXY_SECRET: 'canary-secret' }
const edge = { DB_CONNECTION: 'edge-remote', EDGE_REMOTE_KEY_ID: 'app', EDGE_REMOTE_SECRET: 'canary-secret' }
const boot = (env: Readonly<Record<string, string>>) =>
  createTestHost({ plugins: [database()], env: { DB_CONNECT_TIMEOUT_MS: '100', ...env } })

/** The message of the boot error, which never contains a secret. */
async function refusalOf(env: Readonly<Record<string, string>>): Promise<string> {
  const error = await boot(env).then(
    async (host) => {
      await host.stop()
      assert.fail('it started')
    },
    (thrown: unknown) => String(thrown),
  )
  assert.doesNotMatch(error, /canary/)
  return error
}

describe('settings of the SQL proxies', () => {
  for (const [what, env, expected] of [
    ['USE_RDB_PROXY without rdb', { USE_RDB_PROXY: 'true' }, /DB_CONNECTION=rdb/],
    ['an URL that is none', { ...rdb, RDB_PROXY_URL: 'sql.test' }, /RDB_PROXY_URL must be an http or https URL/],
    ['an URL with a password', { ...rdb, RDB_PROXY_URL: 'https://u:canary@sql.test' }, /RDB_PROXY_URL must be/],
    ['a secret without its key id', { ...rdb, RDB_PROXY_KEY_ID: '' }, /both RDB_PROXY_KEY_ID and RDB_PROXY_SECRET/],
    [
      'unsigned requests in production',
      { ...rdb, RDB_PROXY_KEY_ID: '', RDB_PROXY_SECRET: '', NODE_ENV: 'production' },
      /would not be signed.*RDB_PROXY_SECRET/,
    ],
    ['edge-remote without a URL', edge, /EDGE_REMOTE_URL is empty/],
    [
      'edge-remote without a secret',
      { ...edge, EDGE_REMOTE_URL: 'https://e.test', EDGE_REMOTE_SECRET: '' },
      /EDGE_REMOTE_SECRET \(or APP_KEY\)/,
    ],
    ['a header that signs', { ...rdb, RDB_PROXY_HEADERS_X_Sig_Nonce: 'canary' }, /RDB_PROXY_HEADERS_X_Sig_Nonce: the header x-sig-nonce/],
    ['a header that frames', { ...rdb, RDB_PROXY_HEADERS_TRANSFER_ENCODING: 'chunked' }, /transfer-encoding/],
    ['a header that splits', { ...rdb, RDB_PROXY_HEADERS_X_Tenant: 'canary\r\nx: y' }, /value of the header x-tenant/],
    ['a header set twice', { ...rdb, RDB_PROXY_HEADERS_X_A: '1', RDB_PROXY_HEADERS_x_a: '2' }, /header x-a is set twice/],
    // Nothing listens on this port.
    ['a relational proxy that is down', { ...rdb, RDB_PROXY_PORT: '1' }, /127\.0\.0\.1:1.*did not respond within 100 ms.*RDB_PROXY_URL/],
    ['an edge proxy that is down', { ...edge, EDGE_REMOTE_URL: 'http://127.0.0.1:1' }, /did not respond within 100 ms.*EDGE_REMOTE_URL/],
  ] as const) {
    it(`refuse ${what}, and name the fix`, async () => assert.match(await refusalOf(env), expected))
  }
})
