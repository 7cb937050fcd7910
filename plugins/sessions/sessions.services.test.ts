import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { sessionsContract } from './sessions.contract.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

sessionsContract('Redis', async () => {
  const prefix = `test-${randomUUID()}`
  return { options: () => ({ plugins: [kv({ prefix })], env: { REDIS_URL: redisUrl } }) }
})

describe('sessions with a separate database', () => {
  const { env, create, drop } = mysqlDatabase('sessions')
  before(create)
  after(drop)
  sessionsContract('MySQL or MariaDB', async () => ({ options: () => ({ plugins: [database(), kv()], env }) }))
})
