import { randomUUID } from 'node:crypto'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { describeSessions } from './testing/sessions.contract.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set' }
const mysql = mysqlEnv()
const onRedis = () => kv({ prefix: `test-${randomUUID()}` })

describeSessions('Redis', () => ({ plugins: () => [onRedis()], stores: 'kv', env: redis }))
describeSessions('tables of MySQL or MariaDB', () => ({ plugins: () => [database()], stores: 'db', env: mysql }))
describeSessions('devices in MySQL or MariaDB and the rest on Redis', () => ({
  plugins: () => [database(), onRedis()],
  stores: 'auto',
  env: { ...redis, ...mysql },
}))
