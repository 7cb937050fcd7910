import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { describeLoginEnds } from './testing/login-ends.contract.js'

describeLoginEnds('Redis', () => ({
  plugins: () => [kv({ prefix: `test-${randomUUID()}` })],
  env: { REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set' },
}))

describe('with a separate database', () => {
  const { env, create, drop } = mysqlDatabase('login_ends')
  before(create)
  after(drop)
  describeLoginEnds('MySQL or MariaDB', () => ({ plugins: () => [database(), kv()], env }))
})
