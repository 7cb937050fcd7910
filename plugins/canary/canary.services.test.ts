import { mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { canaryContract } from './canary.contract.js'

canaryContract('Redis and MariaDB', {
  ...mysqlEnv(),
  REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
  WORKER_PERSISTENCE_DRIVER: 'kvstore',
})
