import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Redis } from 'ioredis'
import { database, databaseService } from 'zin/plugins/database'
import { type Kv, kv, kvService } from 'zin/plugins/kv'
import { createTestHost, type TestHost } from 'zin/testing'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { mysqlEnv } from '../../../scripts/testing/mysql-database.js'
import { commandsDuring } from '../../../scripts/testing/redis-monitor.js'
import { redisServer } from '../../../scripts/testing/redis-server.js'
import { stored } from '../testing/stored-worker.js'
import { dbStore } from './db.js'
import { docStore } from './docstore.js'
import { Mongo } from './mongo.js'
import { redisStore } from './redis.js'
import { storeContract } from './store.contract.js'

const unique = randomUUID().slice(0, 8)
const { TEST_REDIS_URL = 'redis://TEST_REDIS_URL-is-not-set', MONGODB_URL: mongoUrl = '' } = process.env

const redisHost = (): Promise<TestHost> => createTestHost({ plugins: [database(), kv()], env: { REDIS_URL: TEST_REDIS_URL } })

storeContract('kvstore on Redis', async () => {
  const hosts = [await redisHost(), await redisHost()] as const
  const [store, second] = hosts.map((host) => redisStore(host.service(kvService), `workers {${unique}}`))
  assert.ok(store && second)
  const close = async (): Promise<void> => {
    for (const worker of await store.all()) await store.remove(worker)
    for (const host of hosts) await host.stop()
  }
  return { store, second, close }
})

storeContract('db on MySQL or MariaDB', async () => {
  const table = `zin_workers_${unique}`
  const host = await createTestHost({ plugins: [database()], env: mysqlEnv() })
  const service = host.service(databaseService)
  const open = () => dbStore(service, { connection: 'default', table, migrated: false })
  const close = async (): Promise<void> => {
    await service.tables().schema.dropTable(table).execute()
    await host.stop()
  }
  return { store: open(), second: open(), close }
})

if (mongoUrl !== '') {
  storeContract('docstore on MongoDB', async () => {
    const owners = ['first', 'second'].map((appName) => new Mongo({ url: mongoUrl, fallback: 'zin test', timeoutMs: 5000, appName }))
    const [store, second] = owners.map((owner) => docStore(() => owner.database(), `zin_workers_${unique}`))
    assert.ok(store && second)
    const close = async (): Promise<void> => {
      await (await owners[0]?.database())?.dropCollection(`zin_workers_${unique}`)
      for (const owner of owners) await owner.close()
    }
    return { store, second, close }
  })
}

describe('1,000 workers in Redis', () => {
  let host: TestHost
  let service: Kv
  before(async () => {
    host = await redisHost()
    service = host.service(kvService)
  })
  after(() => host.stop())

  /** Returns the commands that the connection of the store sends while `work` runs. */
  const commands = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    const redis = service.redis as Redis
    const clients = String(await redis.client('LIST')).split('\n')
    const own = `id=${await redis.client('ID')} `
    const [, address] = /\baddr=(\S+)/.exec(clients.find((line) => line.startsWith(own)) ?? '') ?? []
    const sent = await commandsDuring(TEST_REDIS_URL, work)
    return sent.filter(({ client }) => client === address).map(({ name }) => name)
  }

  it('take one command per page of any size, once the server has the script', async () => {
    const store = redisStore(service, `many-${unique}`)
    const workers = Array.from({ length: 1000 }, (_, index) => stored(`worker-${1000 + index}`))
    await Promise.all(workers.map((worker) => store.insert(worker)))
    const query = { offset: 0, limit: 1000, inactive: false }
    await store.page(query)
    let page = await store.page({ ...query, limit: 0 })
    const sent = await commands(async () => {
      page = await store.page(query)
    })
    assert.deepEqual(sent, ['evalsha'])
    assert.deepEqual([page.workers.length, page.total], [1000, 1000])
    const only = new Set(workers.slice(0, 900).map(({ record }) => record.name))
    assert.deepEqual(await commands(() => store.page({ ...query, only })), ['evalsha'])
    assert.deepEqual(await commands(() => store.page({ ...query, without: only, offset: 50 })), ['evalsha'])
    await Promise.all(workers.map((worker) => store.remove(worker)))
  })

  it('are stored even if the server has lost its scripts', async (t) => {
    const later = cleanUp(t)
    // Of its own: tests beside this one use scripts of the shared server.
    const server = await redisServer()
    later(() => server.stop())
    const own = await createTestHost({ plugins: [database(), kv()], env: { REDIS_URL: server.url } })
    later(() => own.stop())
    const store = redisStore(own.service(kvService), 'forgotten')
    const worker = stored('worker')
    assert.equal(await store.insert(worker), true)
    assert.equal(await store.remove(worker), true)
    await own.service(kvService).redis?.script('FLUSH')
    assert.equal(await store.insert(worker), true)
    assert.deepEqual((await store.page({ offset: 0, limit: 10, inactive: false })).workers, [worker])
    assert.equal(await store.remove(worker), true)
  })
})
