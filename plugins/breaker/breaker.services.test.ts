import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { breakerContract } from './breaker.contract.js'

const { env, create, drop } = mysqlDatabase('breaker')

before(create)
after(drop)

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }

breakerContract('Redis and MariaDB', { ...env, ...redis, WORKER_PERSISTENCE_DRIVER: 'db' }, 2)
