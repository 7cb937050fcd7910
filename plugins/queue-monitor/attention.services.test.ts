import { after } from 'node:test'
import { mysqlDatabase, mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { attentionContract } from './attention.contract.js'
import { attentionKindsContract } from './attention-kinds.contract.js'

const redisEnv = () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' })

attentionContract('Redis and MariaDB', () => ({ ...redisEnv(), ...mysqlEnv() }))

const kinds = mysqlDatabase('attention_kinds')
after(() => kinds.drop())

attentionKindsContract('Redis and MariaDB', true, async () => {
  await kinds.create()
  return { ...redisEnv(), ...kinds.env }
})
