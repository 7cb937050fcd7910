import { mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { canaryContract } from './canary.contract.js'
import { evidenceContract } from './evidence.contract.js'

const env = {
  ...mysqlEnv(),
  REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
  WORKER_PERSISTENCE_DRIVER: 'kvstore',
}
canaryContract('Redis and MariaDB', env)
evidenceContract('Redis and MariaDB', env)
