import { randomUUID } from 'node:crypto'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { describeSessions } from './testing/sessions.contract.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set' }
const server = new URL(process.env.TEST_MYSQL_URL ?? 'mysql://TEST_MYSQL_URL-is-not-set')
const mysql = {
  DB_CONNECTION: 'rdb',
  DB_HOST: server.hostname,
  DB_PORT: server.port,
  DB_DATABASE: server.pathname.slice(1),
  DB_USERNAME: decodeURIComponent(server.username),
  DB_PASSWORD: decodeURIComponent(server.password),
}
const onRedis = () => kv({ prefix: `test-${randomUUID()}` })

describeSessions('Redis', () => ({ plugins: () => [onRedis()], stores: 'kv', env: redis }))
describeSessions('tables of MySQL or MariaDB', () => ({ plugins: () => [database()], stores: 'db', env: mysql }))
describeSessions('devices in MySQL or MariaDB and the rest on Redis', () => ({
  plugins: () => [database(), onRedis()],
  stores: 'auto',
  env: { ...redis, ...mysql },
}))
