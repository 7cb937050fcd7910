import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { Redis } from 'ioredis'
import { databaseService } from 'zin/plugins/database'
import { queuesService } from 'zin/plugins/queues'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { testRedisUrl } from '../../scripts/testing/redis-client.js'
import type { Erasure } from './store/erasures.js'
import { complianceApp } from './testing/app.js'

const tables = ['zin_subject_jobs', 'zin_compliance_marks'] as const

for (const what of ['Redis', 'the tables'] as const) {
  it(`an export and an erasure find all jobs of a subject once a copy of ${what} was restored`, async (t) => {
    const clean = cleanUp(t)
    const database = mysqlDatabase('restored')
    await database.create()
    clean(() => database.drop())
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-restored-'))
    clean(() => rm(dataDir, { recursive: true, force: true }))
    const redis = new Redis(testRedisUrl)
    clean(async () => redis.disconnect())
    const appName = `restored-${randomUUID()}`
    const { host, stop } = await complianceApp({
      env: {
        ...database.env,
        REDIS_URL: testRedisUrl,
        APP_NAME: appName,
        WORKER_GDPR: 'true',
        WORKER_AUTO_START: 'false',
        APP_KEY: 'a master key of more than 32 bytes, for tests',
      },
      dataDir,
      options: { subjects: { orders: ['user.id'] } },
    })
    clean(stop)
    const queues = host.service(queuesService)
    const db = host.service(databaseService).tables()
    const erase = async (subject: string): Promise<Erasure> => {
      const path = `/api/compliance/subjects/${subject}?wait=20000`
      const { text } = await host.inject({ method: 'DELETE', path, headers: { 'x-requested-with': 'test' } })
      return JSON.parse(text).erasure ?? assert.fail(text)
    }
    const exported = async (): Promise<number> =>
      JSON.parse((await host.inject({ method: 'GET', path: '/api/compliance/subjects/ann/export' })).text).jobs.length
    const add = (user: string, options: object = {}) => queues.add('orders', 'x', { user: { id: user } }, { delay: 3_600_000, ...options })
    const copyRedis = async (): Promise<() => Promise<void>> => {
      const keysOf = async () => (await redis.keys('*')).filter((key) => key.includes(appName))
      const copies = await Promise.all((await keysOf()).map(async (key) => [key, await redis.dumpBuffer(key)] as const))
      return async () => {
        await redis.del(await keysOf())
        for (const [key, copy] of copies) await redis.restore(key, 0, copy)
      }
    }
    const copyTables = async (): Promise<() => Promise<void>> => {
      const copies = await Promise.all(tables.map(async (table) => [table, await db.selectFrom(table).selectAll().execute()] as const))
      return async () => {
        for (const [table, rows] of copies) {
          await db.deleteFrom(table).execute()
          if (rows.length > 0) await db.insertInto(table).values(rows).execute()
        }
      }
    }
    await add('ann')
    await add('bob')
    assert.equal((await erase('nobody')).state, 'completed')
    const setBack = await (what === 'Redis' ? copyRedis() : copyTables())
    await add('ann', { jobId: 'later' })
    if (what === 'Redis') assert.equal((await erase('ann')).erased, 2)
    else assert.equal((await erase('bob')).erased, 1)
    await setBack()
    const left = what === 'Redis' ? 1 : 2
    assert.equal(await exported(), left)
    await setBack()
    assert.equal((await erase('ann')).erased, left)
    assert.equal(await exported(), 0)
  })
}
