import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { aloneContract } from './alone.contract.js'
import { nodesContract } from './nodes.contract.js'
import { placesContract } from './places.contract.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }

nodesContract('Redis', { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore' })
aloneContract('Redis', { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore' })

const own = mysqlDatabase('nodes')
before(() => own.create())
after(() => own.drop())
const mariaDb = { ...redis, ...own.env, CLUSTER_DRIVER: 'sql', WORKER_PERSISTENCE_DRIVER: 'db' }
nodesContract('MariaDB', mariaDb)
aloneContract('MariaDB', mariaDb)
placesContract('Redis and MariaDB', mariaDb, true)
