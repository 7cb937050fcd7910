import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { encryptionContract } from './encryption.contract.js'
import { subjectsContract } from './subjects.contract.js'
import { filesWith, redisKeysWith, tablesWith } from './testing/store-dump.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'
const [one, two] = [mysqlDatabase('encryption'), mysqlDatabase('subjects')]
const [appOne, appTwo] = [`test-${randomUUID()}`, `test-${randomUUID()}`]

before(() => Promise.all([one.create(), two.create()]))
after(() => Promise.all([one.drop(), two.drop()]))

const leaksIn = (app: string, url: string) => async (dataDir: string, text: string) => [
  ...(await filesWith(dataDir, text)),
  ...(await redisKeysWith(REDIS_URL, app, text)),
  ...(await tablesWith(url, text)),
]

encryptionContract('Redis and MariaDB', { ...one.env, REDIS_URL, APP_NAME: appOne }, leaksIn(appOne, one.url))
subjectsContract('Redis and MariaDB', { ...two.env, REDIS_URL, APP_NAME: appTwo, WORKER_ENCRYPTION: 'false' }, leaksIn(appTwo, two.url))
