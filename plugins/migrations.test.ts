import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { migrationsContract } from './migrations.contract.js'

migrationsContract('SQLite', {})

const secrets = { EDGE_REMOTE_SECRET: randomUUID(), EDGE_REMOTE_MODE: 'sql' }
const env: Record<string, string> = { ...secrets, DB_CONNECTION: 'edge-remote', EDGE_REMOTE_KEY_ID: 'app' }
let proxy: TestHost

before(async () => {
  proxy = await createTestHost({ plugins: [edgeProxy()], env: { ...secrets, EDGE_RATE_PER_MINUTE: '0' }, listen: true })
  env.EDGE_REMOTE_URL = proxy.url
})
after(() => proxy.stop())

migrationsContract('the edge proxy', env)
