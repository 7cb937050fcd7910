import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { rateLimitContract } from './rate-limit.contract.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

rateLimitContract('Redis', async () => {
  const prefix = `test-${randomUUID()}`
  return { options: () => ({ plugins: [kv({ prefix })], env: { REDIS_URL: redisUrl } }), shared: true }
})

describe('rateLimit with a separate database', () => {
  const { env, create, drop } = mysqlDatabase('rate_limit')
  before(create)
  after(drop)
  rateLimitContract('MySQL or MariaDB', async () => ({ options: () => ({ plugins: [database(), kv()], env }), shared: true }))
})
