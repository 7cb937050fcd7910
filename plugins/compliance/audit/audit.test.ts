import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { auditContract } from './audit.contract.js'
import { removedContract } from './removed.contract.js'
import { upgradeContract } from './upgrade.contract.js'

const secret = randomUUID()
let proxy: TestHost

before(async () => {
  const env = { EDGE_REMOTE_SECRET: secret, EDGE_REMOTE_MODE: 'sql', EDGE_RATE_PER_MINUTE: '0' }
  proxy = await createTestHost({ plugins: [edgeProxy()], env, listen: true })
})
after(() => proxy.stop())

auditContract('SQLite', () => ({}))
upgradeContract('SQLite', () => ({}))
removedContract('SQLite', () => ({}))
auditContract('a database behind the edge proxy', () => ({
  DB_CONNECTION: 'edge-remote',
  EDGE_REMOTE_URL: proxy.url,
  EDGE_REMOTE_KEY_ID: 'app',
  EDGE_REMOTE_SECRET: secret,
  EDGE_REMOTE_MODE: 'sql',
}))
