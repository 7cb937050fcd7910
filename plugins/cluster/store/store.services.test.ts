import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { systemClock } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import type { RedisClient } from 'zin/plugins/redis'
import { createTestHost, memoryLogger } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { mysqlEnv } from '../../../scripts/testing/mysql-database.js'
import { connectRedis, redisClusterServer, storesOnRedis, testRedisUrl } from '../../../scripts/testing/redis-client.js'
import { commandsDuring } from '../../../scripts/testing/redis-monitor.js'
import { type RedisServer, redisServer } from '../../../scripts/testing/redis-server.js'
import { defineMessage } from '../contract.js'
import { createCluster as createClusterTables } from '../migrations/0001-create-cluster.js'
import { openNode, silentLog } from '../testing/cluster-pair.js'
import { ageCluster } from './age.contract.js'
import { clusterContract, type TestedStore } from './cluster.contract.js'
import { redisStore } from './redis/redis.js'
import { sqlStore } from './sql/sql.js'

const unique = randomUUID().slice(0, 8)
const keyPrefix = `test-${unique}:kv:`
const base = 'app:{cluster}'
const noted = defineMessage<string>('test.noted')

const asClient = { name: `test-${unique}`, keyPrefix }
const connect = (url: string): Promise<RedisClient> => connectRedis(url, asClient)
const storeOn = (client: RedisClient, log = silentLog) => redisStore({ redis: () => client, name: 'app', log })

const ageScript = `
for _, node in ipairs(redis.call('ZRANGE', KEYS[1] .. ':nodes', 0, -1)) do redis.call('ZINCRBY', KEYS[1] .. ':nodes', -ARGV[1], node) end`

const onRedis = (url: string): TestedStore => {
  const stores = storesOnRedis(url, asClient, storeOn)
  return { ...stores, age: async (ms) => void (await stores.clients[0]?.eval(ageScript, 1, base, ms)) }
}

clusterContract('Redis', async () => onRedis(testRedisUrl))

describe('the cluster on Redis', { timeout: 120_000 }, () => {
  let server: RedisServer
  let client: RedisClient
  before(async () => {
    server = await redisServer()
    client = await connect(server.url)
  })
  beforeEach(() => client.flushall())
  after(async () => {
    client.disconnect()
    await server.stop()
  })

  it('sends one command per heartbeat, whatever roles the node holds', async () => {
    const node = await openNode(storeOn(client))
    const leadership = node.lead('test.role')
    await eventually('it leads', () => leadership.leads)
    const sent = await commandsDuring(server.url, async () => {
      await node.heartbeat()
      await node.heartbeat()
    })
    assert.deepEqual(
      sent.map(({ name }) => name),
      ['eval', 'eval'],
    )
    await node.close()
  })

  it('isolates the databases of one server, keeps all keys in one slot, and uses one more connection while open', async () => {
    const connections = async () => String(await client.call('CLIENT', 'LIST')).match(new RegExp(`name=test-${unique}`, 'g'))?.length
    const elsewhere = await connect(`${server.url}/3`)
    const [here, there] = [await openNode(storeOn(client)), await openNode(storeOn(elsewhere))]
    assert.equal(await connections(), 4)
    const heard: string[] = []
    here.on(noted, (text) => heard.push(text))
    await there.send(noted, 'there')
    await here.send(noted, 'here')
    await eventually('a message', () => heard.length > 0)
    assert.deepEqual(heard, ['here'])
    const keys = await client.keys('*')
    assert.ok(keys.length >= 3 && keys.every((key) => key.startsWith(`${keyPrefix}${base}:`)))
    await Promise.all([here.close(), there.close()])
    elsewhere.disconnect()
    await eventually('only the client', async () => (await connections()) === 1)
  })

  it('ignores invalid messages', async () => {
    const log = memoryLogger()
    const node = await openNode(storeOn(client, log))
    const heard: string[] = []
    node.on(noted, (text) => heard.push(text))
    await client.publish(`${keyPrefix}${base}:messages:0`, '{')
    await node.send(noted, 'w')
    await eventually('a message', () => heard.length > 0)
    assert.deepEqual([heard, log.lines.map(({ level }) => level)], [['w'], ['warn']])
    await node.close()
  })

  it('recovers after a restart of Redis, and reports that messages may be missing', async () => {
    const log = memoryLogger()
    const node = await openNode(storeOn(client, log))
    const heard: string[] = []
    node.on(noted, (text) => heard.push(text))
    node.onMissed(() => heard.push('missed'))
    await node.send(noted, 'before')
    await eventually('a message', () => heard.length === 1)
    await server.kill()
    const error = await node.send(noted, 'lost').catch((thrown: unknown) => thrown)
    assert.deepEqual([(error as { code?: string }).code, (error as { status?: number }).status], ['CLUSTER_UNAVAILABLE', 503])
    assert.equal(node.isUnavailable(error), true)
    await server.start()
    await eventually('it says so', () => heard.includes('missed'))
    await eventually('the client is back', () => client.status === 'ready')
    await node.send(noted, 'after')
    await eventually('a message', () => heard.length === 3)
    assert.deepEqual(heard, ['before', 'missed', 'after'])
    assert.deepEqual(
      log.lines.map(({ level }) => level),
      ['warn', 'info'],
    )
    await node.heartbeat()
    assert.equal(node.nodes().find(({ id }) => id === node.node.id)?.alive, true)
    await node.close()
  })

  it('does not reconnect when it is closed while Redis is down', async () => {
    const node = await openNode(storeOn(client))
    await server.kill()
    await node.close()
    await server.start()
    await eventually('the client is back', () => client.status === 'ready')
    assert.doesNotMatch(String(await client.call('CLIENT', 'LIST')), /:messages/)
  })
})

describe('with a Redis Cluster', () => {
  let server: RedisServer
  before(async () => {
    server = await redisClusterServer(asClient)
  })
  after(() => server.stop())

  clusterContract('Redis Cluster', async () => onRedis(server.url))
})

const mysqlHost = async () => {
  const host = await createTestHost({ plugins: [database()], env: mysqlEnv() })
  const service = host.service(databaseService)
  await createClusterTables.up(service.tables())
  return {
    host,
    store: sqlStore({ database: service, name: `test-${unique}`, clock: systemClock, log: silentLog }),
    tables: service.tables(),
  }
}

clusterContract('MySQL or MariaDB', async () => {
  const opened: Awaited<ReturnType<typeof mysqlHost>>[] = []
  return {
    async open() {
      const one = await mysqlHost()
      opened.push(one)
      return one.store
    },
    async age(ms) {
      await ageCluster(opened[0]?.tables ?? assert.fail('nothing is open'), ms)
    },
    async close() {
      for (const { host } of opened) await host.stop()
    },
  }
})

it('delivers a message whose transaction commits late, once', async () => {
  const { host, store, tables } = await mysqlHost()
  const node = await openNode(store)
  const heard: string[] = []
  node.on(noted, (text) => heard.push(text))
  await tables.transaction().execute(async (tx) => {
    const body = JSON.stringify({ kind: noted.name, from: 'x', body: 'slow' })
    await tx
      .insertInto('zin_cluster_messages')
      .values({ cluster: `test-${unique}`, body, sent_at: systemClock.now() })
      .execute()
    await node.send(noted, 'fast')
    await eventually('the fast one', () => heard.length === 1)
  })
  await eventually('the slow one', () => heard.length === 2)
  await node.send(noted, 'last')
  await eventually('the last one', () => heard.length === 3)
  assert.deepEqual(heard, ['fast', 'slow', 'last'])
  await node.close()
  await host.stop()
})
