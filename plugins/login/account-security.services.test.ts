import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { mysqlDatabase, mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { describeErasure } from './testing/erasure.contract.js'
import { describeLeftBehind } from './testing/left-behind.contract.js'
import { describeMails } from './testing/mails.contract.js'
import { describeTotp } from './testing/totp.contract.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set' }
const backend = () => ({ plugins: () => [database(), kv({ prefix: `test-${randomUUID()}` })], env: { ...redis, ...mysqlEnv() } })

describeErasure('MySQL or MariaDB and Redis', backend)
describeTotp('MySQL or MariaDB and Redis', backend)
describeMails('MySQL or MariaDB and Redis', backend)

// Of its own: to a database with nonces, an empty Redis is one that has lost them.
const own = mysqlDatabase('left_behind')
before(() => own.create())
after(() => own.drop())
describeLeftBehind('MySQL or MariaDB and Redis', () => ({ ...backend(), env: { ...redis, ...own.env } }))
