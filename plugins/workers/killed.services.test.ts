import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { killedContract } from './killed.contract.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }
killedContract('Redis', { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore' })

const own = mysqlDatabase('killed')
before(() => own.create())
after(() => own.drop())
killedContract('Redis and MariaDB', { ...redis, ...own.env, CLUSTER_DRIVER: 'sql', WORKER_PERSISTENCE_DRIVER: 'db' })
