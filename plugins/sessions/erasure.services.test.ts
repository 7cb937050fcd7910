import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { testRedisUrl } from '../../scripts/testing/redis-client.js'
import { erasureContract } from './erasure.contract.js'

const own = mysqlDatabase('devices_erasure')
before(() => own.create())
after(() => own.drop())
erasureContract('Redis and MariaDB', () => ({
  plugins: [database(), kv()],
  env: { ...own.env, REDIS_URL: testRedisUrl, APP_NAME: `test-${randomUUID()}` },
}))
