import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { rdbProxy } from 'zin/plugins/rdb-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { mysqlDatabase } from '../../../scripts/testing/mysql-database.js'
import { auditContract } from './audit.contract.js'
import { removedContract } from './removed.contract.js'
import { upgradeContract } from './upgrade.contract.js'

const [store, proxied, older] = [mysqlDatabase('audit'), mysqlDatabase('auditproxied'), mysqlDatabase('auditolder')]
const removed = mysqlDatabase('auditremoved')
const keys = { RDB_PROXY_KEY_ID: 'app', RDB_PROXY_SECRET: randomUUID() }
let proxy: TestHost

before(async () => {
  await Promise.all([store, proxied, older, removed].map((one) => one.create()))
  // With the defaults of a proxy: no transactions that stay open, and requests of up to 128 KiB.
  proxy = await createTestHost({ plugins: [rdbProxy()], env: { ...keys, ...proxied.env }, listen: true })
})
after(async () => {
  await proxy.stop()
  await Promise.all([store, proxied, older, removed].map((one) => one.drop()))
})

/** The queue is not what is tested, and the embedded one starts slowly. */
const queue = () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set', APP_NAME: `audit-${randomUUID()}` })

auditContract('MySQL or MariaDB', () => ({ ...store.env, ...queue() }))
const olderQueue = queue()
upgradeContract('MySQL or MariaDB', () => ({ ...older.env, ...olderQueue }))
removedContract('MySQL or MariaDB', () => ({ ...removed.env, ...queue() }))
auditContract('a database behind the relational proxy', () => ({
  DB_CONNECTION: 'rdb',
  USE_RDB_PROXY: 'true',
  RDB_PROXY_URL: proxy.url,
  ...keys,
  ...queue(),
}))
