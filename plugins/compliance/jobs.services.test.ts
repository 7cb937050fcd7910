import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { queuesService } from 'zin/plugins/queues'
import { type MysqlDatabase, mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { filesWith, redisKeysWith, tablesWith } from '../../scripts/testing/store-dump.js'
import { encryptionContract } from './encryption.contract.js'
import { movingJobsContract } from './moving-jobs.contract.js'
import { sharedIdsContract } from './shared-ids.contract.js'
import { subjectsContract } from './subjects.contract.js'
import { complianceApp } from './testing/app.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'
const [one, two, three, four] = ['encryption', 'subjects', 'shared_ids', 'moving_jobs'].map((name) => mysqlDatabase(name)) as [
  MysqlDatabase,
  MysqlDatabase,
  MysqlDatabase,
  MysqlDatabase,
]
const [appOne, appTwo, appThree, appFour] = ['', '', '', ''].map(() => `test-${randomUUID()}`) as [string, string, string, string]

before(() => Promise.all([one.create(), two.create(), three.create(), four.create()]))
after(() => Promise.all([one.drop(), two.drop(), three.drop(), four.drop()]))

const leaksIn = (app: string, url: string) => async (dataDir: string, text: string) => [
  ...(await filesWith(dataDir, text)),
  ...(await redisKeysWith(REDIS_URL, app, text)),
  ...(await tablesWith(url, text)),
]

encryptionContract('Redis and MariaDB', { ...one.env, REDIS_URL, APP_NAME: appOne }, leaksIn(appOne, one.url))
subjectsContract('Redis and MariaDB', { ...two.env, REDIS_URL, APP_NAME: appTwo, WORKER_ENCRYPTION: 'false' }, leaksIn(appTwo, two.url))
sharedIdsContract('Redis and MariaDB', { ...three.env, REDIS_URL, APP_NAME: appThree })
movingJobsContract('Redis and MariaDB', { ...four.env, REDIS_URL, APP_NAME: appFour, WORKER_ENCRYPTION: 'false' })

it('erasures in two processes beside each other count each job once, and leave none', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-two-'))
  const env = {
    ...two.env,
    REDIS_URL,
    APP_NAME: appTwo,
    WORKER_GDPR: 'true',
    WORKER_AUTO_START: 'false',
    APP_KEY: 'a master key of more than 32 bytes, for tests',
  }
  const apps = [await complianceApp({ env, dataDir }), await complianceApp({ env, dataDir: `${dataDir}/second` })]
  try {
    const [queues] = apps.map(({ host }) => host.service(queuesService))
    for (let round = 0; round < 4; round++) {
      const jobs = Array.from({ length: 100 }, () => ({ name: 'x', options: { subject: 'shared', delay: 3_600_000 } }))
      await queues?.addBulk('shared', jobs)
      const path = '/api/compliance/subjects/shared?wait=20000'
      const erase = ({ host }: (typeof apps)[number]) => host.inject({ method: 'DELETE', path, headers: { 'x-requested-with': 'test' } })
      const erased = (await Promise.all(apps.map(erase))).map(({ text }) => JSON.parse(text).erasure?.erased ?? assert.fail(text))
      assert.equal((erased[0] ?? 0) + (erased[1] ?? 0), jobs.length, `round ${round}: ${erased.join()}`)
      assert.equal((await queues?.counts('shared'))?.delayed, 0)
    }
  } finally {
    for (const app of apps) await app.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
