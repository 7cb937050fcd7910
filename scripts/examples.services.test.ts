import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { type Env, linkPackages, runCli, runNode, startServing, temporaryFolder } from './app-process.js'
import { cleanUp } from './testing/clean-up.js'
import { mysqlDatabase, mysqlEnv } from './testing/mysql-database.js'

it('examples/full passes the tour on Redis and MariaDB, twice', async (t) => {
  const { folder } = await madeApp(t)
  for (const _round of [1, 2]) await tour(folder, servers())
})

it('examples/full passes the tour with all of its tables behind the relational proxy', async (t) => {
  const { folder, root, atEnd } = await madeApp(t)
  const store = mysqlDatabase('tour')
  await store.create()
  atEnd(store.drop)
  const keys = { RDB_PROXY_KEY_ID: 'tour', RDB_PROXY_SECRET: randomUUID() }
  const proxy = await startServing(['proxy:mysql', '--port', '0'], root, { ...store.env, ...keys })
  atEnd(proxy.end)
  await tour(folder, { DB_CONNECTION: 'rdb', USE_RDB_PROXY: 'true', RDB_PROXY_URL: proxy.url, ...keys })
})

it('examples/full passes the tour with all of its tables behind the edge proxy in workerd', async (t) => {
  const { folder, root, atEnd } = await madeApp(t)
  const keys = { EDGE_REMOTE_SECRET: randomUUID(), EDGE_REMOTE_MODE: 'sql' }
  const proxy = await startServing(['proxy', '--port', '0', '--runtime', 'workerd'], root, { ...keys, EDGE_RATE_PER_MINUTE: '0' })
  atEnd(proxy.end)
  await tour(folder, { DB_CONNECTION: 'edge-remote', EDGE_REMOTE_URL: proxy.url, EDGE_REMOTE_KEY_ID: 'tour', ...keys })
})

/** Creates an app from the example, and a separate folder for a proxy. */
async function madeApp(t: TestContext) {
  const atEnd = cleanUp(t)
  const temporary = temporaryFolder()
  atEnd(temporary.remove)
  const made = await runCli(['new', 'app', '--example', 'full'], temporary.path)
  assert.equal(made.code, 0, made.stderr)
  const folder = join(temporary.path, 'app')
  linkPackages(folder)
  linkPackages(temporary.path)
  return { folder, root: temporary.path, atEnd }
}

async function tour(folder: string, env: Env): Promise<void> {
  const { code, stdout, stderr } = await runNode(['--import', 'tsx', 'scripts/tour.ts', '--start'], folder, env)
  assert.equal(code, 0, stdout + stderr)
}

function servers(): Env {
  const { TEST_REDIS_URL, TEST_MYSQL_URL } = process.env
  assert.ok(TEST_REDIS_URL && TEST_MYSQL_URL, 'TEST_REDIS_URL and TEST_MYSQL_URL are not set; run npm test')
  return { REDIS_URL: TEST_REDIS_URL, ...mysqlEnv() }
}
