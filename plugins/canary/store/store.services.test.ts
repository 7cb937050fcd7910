import { after, before } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost, type TestHost } from 'zin/testing'
import { mysqlEnv } from '../../../scripts/testing/mysql-database.js'
import { kvStore } from './kv.js'
import { canaryStoreContract } from './store.contract.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }

for (const [title, env] of [
  ['Redis', redis],
  ['a table of MariaDB', mysqlEnv()],
] as const) {
  let host: TestHost
  before(async () => {
    host = await createTestHost({ plugins: [database(), kv()], env })
  })
  after(() => host.stop())
  canaryStoreContract(title, () => kvStore(host.service(kvService), title === 'Redis' ? 'redis' : 'database'))
}
