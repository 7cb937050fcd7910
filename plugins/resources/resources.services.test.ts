import { mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { resourcesContract } from './resources.contract.js'

resourcesContract(
  'Redis and MariaDB, three processes',
  {
    ...mysqlEnv(),
    REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
    WORKER_PERSISTENCE_DRIVER: 'kvstore',
  },
  3,
)
