import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { decisionsContract } from './decisions.contract.js'

const alone = mysqlDatabase('decisions')
const besideRedis = mysqlDatabase('decisions')

before(() => Promise.all([alone.create(), besideRedis.create()]))
after(() => Promise.all([alone.drop(), besideRedis.drop()]))

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }

decisionsContract('MySQL or MariaDB', alone.env, true)
decisionsContract('MySQL or MariaDB with messages over Redis', { ...besideRedis.env, ...redis }, true)
