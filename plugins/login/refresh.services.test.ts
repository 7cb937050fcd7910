import { randomUUID } from 'node:crypto'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { describeRefresh } from './testing/refresh.contract.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set' }
const onRedis = () => kv({ prefix: `test-${randomUUID()}` })

describeRefresh('Redis', () => ({ plugins: () => [onRedis()], env: redis }))
describeRefresh('a table of MySQL or MariaDB', () => ({ plugins: () => [database(), onRedis()], env: { ...redis, ...mysqlEnv() } }))
