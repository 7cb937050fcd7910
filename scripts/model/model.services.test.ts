import { mysqlEnv } from '../testing/mysql-database.js'
import { modelContract } from './model.contract.js'

modelContract('Redis and MariaDB', 2, () => ({ ...mysqlEnv(), REDIS_URL: process.env.TEST_REDIS_URL ?? '' }))
