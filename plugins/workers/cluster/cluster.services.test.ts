import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { systemClock } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import { openRedis, type RedisClient, redisTarget } from 'zin/plugins/redis'
import { createTestHost, memoryLogger } from 'zin/testing'
import { mysqlEnv } from '../../../scripts/testing/mysql-database.js'
import { type RedisServer, redisServer } from '../../../scripts/testing/redis-server.js'
import { createClusterTables } from '../migrations/create-cluster.js'
import { eventually, hear, levelsOf, nodeInfo, nodeStatus, silentLog } from '../testing/helpers.js'
import { clusterContract } from './cluster.contract.js'
import { redisCluster } from './redis/redis-cluster.js'
import { ageSql } from './sql/age.contract.js'
import { sqlCluster } from './sql/sql-cluster.js'
import { tableNames } from './sql/tables.js'

const unique = randomUUID().slice(0, 8)
const redisUrl = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'
const keyPrefix = `test-${unique}:kv:`
const base = 'app:{workers}'

const connect = (url: string): Promise<RedisClient> => {
  const target = redisTarget('TEST_REDIS_URL', url)
  return openRedis({
    target,
    setting: 'TEST_REDIS_URL',
    name: `test-${unique}`,
    connectTimeoutMs: 5000,
    log: silentLog,
    mode: 'fail-fast',
    keyPrefix,
  })
}

const openOn = async (client: RedisClient, log = silentLog) => {
  const cluster = redisCluster({ redis: () => client, prefix: 'app', log })
  await cluster.open()
  return cluster
}

const ageScript = `
for _, node in ipairs(redis.call('ZRANGE', KEYS[1] .. ':nodes', 0, -1)) do redis.call('ZINCRBY', KEYS[1] .. ':nodes', -ARGV[1], node) end
for _, key in ipairs(redis.call('KEYS', KEYS[1] .. ':lead:*')) do redis.call('HINCRBY', key, 'until', -ARGV[1]) end`

/** Two clients, as of two processes. */
const redisStore = async (url: string) => {
  const clients: RedisClient[] = []
  return {
    async open() {
      const client = await connect(url)
      clients.push(client)
      return openOn(client)
    },
    async age(ms: number) {
      await clients[0]?.eval(ageScript, 1, base, ms)
    },
    async close() {
      for (const client of clients) client.disconnect()
    },
  }
}

clusterContract('Redis', () => redisStore(redisUrl))

describe('the cluster on Redis', { timeout: 60_000 }, () => {
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

  it('does each thing in one command, whatever the number of workers', async () => {
    const cluster = await openOn(client)
    const names = Array.from({ length: 100 }, (_, index) => `worker-${index}`)
    const watcher = await connect(server.url)
    assert.ok('monitor' in watcher)
    const monitor = await watcher.monitor()
    const commands: string[] = []
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (source !== 'lua') commands.push(String(args[0]).toLowerCase())
    })
    const seen = async (): Promise<readonly string[]> => {
      await watcher.call('ECHO', 'end')
      await eventually('all commands', () => commands.at(-1) === 'echo')
      return commands.splice(0).slice(0, -1)
    }
    const counts = names.map((worker) => ({ worker, version: '1.0.0', completed: 1, failed: 0, lost: 0, totalMs: 1 }))
    const calls = {
      beat: () => cluster.beat(nodeInfo('a'), 30_000),
      report: () =>
        cluster.report(
          'a',
          names.map((name) => nodeStatus(name)),
        ),
      statuses: () => cluster.statuses(names),
      running: () => cluster.running(),
      count: () => cluster.count(counts),
      totals: () => cluster.totals(names),
      minutes: () => cluster.minutes('worker-1', 0),
      lead: () => cluster.lead('role', 'a', 1000),
      erase: () => cluster.erase('worker-1'),
      sweep: () => cluster.sweep(),
    }
    await seen()
    for (const [name, call] of Object.entries(calls)) {
      await call()
      assert.deepEqual(await seen(), ['eval'], name)
    }
    monitor.disconnect()
    watcher.disconnect()
    await cluster.close()
  })

  it('keeps all keys under one prefix and in one slot, and what is of a day for little longer', async () => {
    const cluster = await openOn(client)
    await cluster.beat(nodeInfo('a'), 30_000)
    await cluster.report('a', [nodeStatus('emails')])
    await cluster.announce('emails')
    await cluster.count([{ worker: 'emails', version: '1.0.0', completed: 1, failed: 0, lost: 0, totalMs: 1 }])
    await cluster.saveOperation({
      id: 'o',
      worker: 'emails',
      workerId: 'i',
      action: 'stop',
      generation: 1,
      targets: [],
      desired: 'running',
      at: 1,
    })
    await cluster.lead('role', 'a', 1000)
    const keys = await client.keys('*')
    assert.deepEqual(
      keys.filter((key) => !key.startsWith(`${keyPrefix}${base}:`)),
      [],
    )
    assert.ok(keys.length >= 10)
    const expiring = keys.filter((key) => /:(status|running|minutes|operations?):/.test(key))
    assert.equal(expiring.length, 5)
    for (const key of expiring) {
      const life = await client.pttl(key.slice(keyPrefix.length))
      assert.ok(life > 0 && life <= 25 * 3_600_000, `${key}: ${life}`)
    }
    await cluster.close()
  })

  it('keeps apps on different databases of one server apart', async () => {
    const elsewhere = await connect(`${server.url}/3`)
    const [here, there] = [await openOn(client), await openOn(elsewhere)]
    const [mine, others] = [hear(here), hear(there)]
    await here.announce('here')
    await there.announce('there')
    await Promise.all([mine.count(1), others.count(1)])
    assert.deepEqual([mine.heard, others.heard], [[{ kind: 'change', worker: 'here' }], [{ kind: 'change', worker: 'there' }]])
    await Promise.all([here.close(), there.close()])
    elsewhere.disconnect()
  })

  it('uses one connection more than the client that it is given, and none when it is closed', async () => {
    const connections = async () => String(await client.call('CLIENT', 'LIST')).match(new RegExp(`name=test-${unique}`, 'g'))?.length
    await eventually('only the client', async () => (await connections()) === 1)
    const cluster = await openOn(client)
    assert.equal(await connections(), 2)
    await cluster.close()
    await eventually('only the client', async () => (await connections()) === 1)
  })

  it('leaves out what is no message', async () => {
    const log = memoryLogger()
    const cluster = await openOn(client, log)
    const { heard, count } = hear(cluster)
    await client.publish(`${keyPrefix}${base}:messages:0`, '{')
    await cluster.announce('w')
    await count(1)
    assert.deepEqual([heard.length, levelsOf(log)], [1, ['warn']])
    await cluster.close()
  })

  it('says that Redis is away when there is no client, and when nothing listens for messages there', async () => {
    const cluster = redisCluster({ redis: () => undefined, prefix: 'app', log: silentLog })
    for (const call of [() => cluster.open(), () => cluster.nodes()]) {
      const error = await call().catch((thrown: unknown) => thrown)
      assert.equal((error as { code?: string }).code, 'WORKER_CLUSTER_UNAVAILABLE')
      assert.equal(cluster.isUnavailable(error), true)
    }
    await cluster.close()
  })

  it('works and hears again by itself after Redis was restarted, and says that messages may be missing', async () => {
    const log = memoryLogger()
    const cluster = await openOn(client, log)
    const { heard, count } = hear(cluster)
    await cluster.announce('before')
    await count(1)
    await server.kill()
    const error = await cluster.announce('lost').catch((thrown: unknown) => thrown)
    assert.equal((error as { code?: string }).code, 'WORKER_CLUSTER_UNAVAILABLE')
    assert.equal((error as { status?: number }).status, 503)
    assert.equal(cluster.isUnavailable(error), true)
    await server.start()
    await eventually('a resync', () => heard.some(({ kind }) => kind === 'resync'))
    await eventually('the client is back', () => client.status === 'ready')
    await cluster.announce('after')
    await count(3)
    assert.deepEqual(heard, [{ kind: 'change', worker: 'before' }, { kind: 'resync' }, { kind: 'change', worker: 'after' }])
    assert.deepEqual(levelsOf(log), ['warn', 'info'])
    await cluster.close()
  })

  it('connects no more when it is closed while Redis is away', async () => {
    const cluster = await openOn(client)
    const { heard } = hear(cluster)
    await server.kill()
    await cluster.close()
    await server.start()
    await eventually('the client is back', () => client.status === 'ready')
    const names = String(await client.call('CLIENT', 'LIST'))
    assert.doesNotMatch(names, /:messages/)
    assert.deepEqual(heard, [])
  })
})

describe('with a Redis Cluster', () => {
  let server: RedisServer
  before(async () => {
    server = await redisServer('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
    const one = await connect(server.url)
    await one.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
    await eventually('the cluster is whole', async () => String(await one.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
    one.disconnect()
  })
  after(() => server.stop())

  clusterContract('Redis Cluster', () => redisStore(server.url.replace('redis:', 'redis-cluster:')))
})

const mysqlHost = () => createTestHost({ plugins: [database()], env: mysqlEnv() })
const tablePrefix = `zin_${unique}`
const openSql = async (host: Awaited<ReturnType<typeof mysqlHost>>) => {
  const service = host.service(databaseService)
  await createClusterTables(service.tables(), tablePrefix)
  const cluster = sqlCluster({ database: service, connection: 'default', prefix: tablePrefix, clock: systemClock, log: silentLog })
  await cluster.open()
  return cluster
}

describe('with MySQL or MariaDB', () => {
  after(async () => {
    const host = await mysqlHost()
    const { schema } = host.service(databaseService).tables()
    for (const table of Object.values(tableNames(tablePrefix))) await schema.dropTable(table).ifExists().execute()
    await host.stop()
  })

  clusterContract('MySQL or MariaDB', async () => {
    const hosts: Awaited<ReturnType<typeof mysqlHost>>[] = []
    return {
      async open() {
        const host = await mysqlHost()
        hosts.push(host)
        return openSql(host)
      },
      async age(ms) {
        const service = hosts[0]?.service(databaseService)
        if (service !== undefined) await ageSql(service.tables(), tablePrefix, ms)
      },
      async close() {
        for (const host of hosts) await host.stop()
      },
    }
  })

  it('a message whose transaction ends late is heard late, and once', async () => {
    const host = await mysqlHost()
    const cluster = await openSql(host)
    const mine = ['slow', 'fast', 'last']
    const { heard, count } = hear(cluster, (message) => message.kind === 'change' && mine.includes(message.worker))
    const db = host.service(databaseService).tables()
    const slow = await db.transaction().execute(async (tx) => {
      const body = JSON.stringify({ kind: 'change', worker: 'slow' })
      await tx.insertInto(`${tablePrefix}_messages`).values({ body, sent_at: systemClock.now() }).execute()
      await cluster.announce('fast')
      await count(1)
      return heard.length
    })
    assert.equal(slow, 1)
    await count(2)
    await cluster.announce('last')
    await count(3)
    assert.deepEqual(
      heard.map((message) => 'worker' in message && message.worker),
      ['fast', 'slow', 'last'],
    )
    await cluster.close()
    await host.stop()
  })
})
