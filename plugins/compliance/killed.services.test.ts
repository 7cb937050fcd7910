import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { redisKeysWith, tablesWith } from '../../scripts/testing/store-dump.js'
import { killedContract } from './killed.contract.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'
const own = mysqlDatabase('erasure_killed')
const APP_NAME = `test-${randomUUID()}`
before(() => own.create())
after(() => own.drop())
killedContract('Redis and MariaDB', {
  env: { ...own.env, REDIS_URL, APP_NAME, CLUSTER_NAME: APP_NAME },
  shared: true,
  leaksOf: async (_rootDir, text) => [...(await redisKeysWith(REDIS_URL, APP_NAME, text)), ...(await tablesWith(own.url, text))],
})
