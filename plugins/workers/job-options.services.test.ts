import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { workerJobOptionsContract } from './job-options.contract.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'
const { env, create, drop } = mysqlDatabase('joboptions')

before(create)
after(drop)

workerJobOptionsContract('Redis and MariaDB', { env: { ...env, REDIS_URL: redisUrl, WORKER_PERSISTENCE_DRIVER: 'db' } })
