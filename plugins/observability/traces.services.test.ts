import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { tracesContract } from './traces.contract.js'

const { env, create, drop } = mysqlDatabase('traces')

before(create)
after(drop)

tracesContract('Redis and MariaDB', () => ({
  ...env,
  REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
}))
