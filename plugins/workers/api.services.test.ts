import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { apiContract } from './api.contract.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'
const { env, create, drop } = mysqlDatabase('api')

before(create)
after(drop)

apiContract('Redis', { env: { REDIS_URL: redisUrl, WORKER_PERSISTENCE_DRIVER: 'kvstore' } })

apiContract('MySQL or MariaDB', { env: { ...env, WORKER_PERSISTENCE_DRIVER: 'db' } })
