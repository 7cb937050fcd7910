import { after } from 'node:test'
import { mysqlDatabase, mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { mysqlServer } from '../../scripts/testing/mysql-server.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { attentionContract } from './attention.contract.js'
import { attentionKindsContract } from './attention-kinds.contract.js'

const redisEnv = () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' })

attentionContract('Redis and MariaDB', () => ({ ...redisEnv(), ...mysqlEnv() }))

const kinds = mysqlDatabase('attention_kinds')
after(() => kinds.drop())

attentionKindsContract(
  'Redis and MariaDB',
  true,
  async () => {
    await kinds.create()
    return { ...redisEnv(), ...kinds.env }
  },
  async (atEnd) => {
    const mysql = await mysqlServer()
    atEnd(() => mysql.stop())
    const redis = await redisServer()
    atEnd(() => redis.stop())
    return {
      env: { REDIS_URL: redis.url, ...mysql.env },
      cut: async (lab) => {
        await redis.kill()
        mysql.hang()
        // The clocks are compared once a minute, or when the own one was set.
        lab.setClock(5_000)
        return async () => {
          mysql.resume()
          await redis.start()
          lab.setClock(10_000)
        }
      },
      left: new Set(['memory']),
    }
  },
)
