import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { database, databaseService } from 'zin/plugins/database'
import type { RedisClient } from 'zin/plugins/redis'
import { createTestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { mysqlEnv } from '../../../scripts/testing/mysql-database.js'
import { connectRedis, redisClusterServer, storesOnRedis, testRedisUrl } from '../../../scripts/testing/redis-client.js'
import { commandsDuring } from '../../../scripts/testing/redis-monitor.js'
import { type RedisServer, redisServer } from '../../../scripts/testing/redis-server.js'
import { createStateTables } from '../migrations/0002-create-state.js'
import { createDurationsTable } from '../migrations/0004-create-durations.js'
import { addOutcomeCounts } from '../migrations/0005-add-outcome-counts.js'
import { nodeStatus } from '../testing/helpers.js'
import { redisState } from './redis/redis.js'
import { sqlState } from './sql/sql.js'
import { tableNames } from './sql/tables.js'
import { stateContract, type TestedState } from './state.contract.js'

const unique = randomUUID().slice(0, 8)
const keyPrefix = `test-${unique}:kv:`
const base = 'app:{workers}'

const asClient = { name: `test-${unique}`, keyPrefix }
const stateOn = (client: RedisClient | undefined) => redisState({ redis: () => client, prefix: 'app' })

const onRedis = (url: string): TestedState => storesOnRedis(url, asClient, stateOn)

stateContract('Redis', async () => onRedis(testRedisUrl))

describe('the state store in Redis', { timeout: 120_000 }, () => {
  let server: RedisServer
  let client: RedisClient
  before(async () => {
    server = await redisServer()
    client = await connectRedis(server.url, asClient)
  })
  beforeEach(() => client.flushall())
  after(async () => {
    client.disconnect()
    await server.stop()
  })

  it('takes one command per method, whatever the number of workers', async () => {
    const state = stateOn(client)
    const names = Array.from({ length: 100 }, (_, index) => `worker-${index}`)
    const counts = names.map((worker) => ({
      worker,
      version: '1.0.0',
      completed: 1,
      failed: 0,
      lost: 0,
      timedOut: 0,
      cancelled: 0,
      totalMs: 1,
      durations: { 8: 1 },
    }))
    const calls = {
      report: () =>
        state.report(
          'a',
          names.map((name) => nodeStatus(name)),
        ),
      change: () => state.change('worker-1'),
      news: () => state.news('a', 0),
      statuses: () => state.statuses(names),
      running: () => state.running(['a']),
      count: () => state.count(counts),
      totals: () => state.totals(names),
      counts: () => state.counts(names.slice(0, 3), { since: 0 }),
      erase: () => state.erase('worker-1', 'id'),
      sweep: () => state.sweep(['a']),
    }
    for (const [what, call] of Object.entries(calls)) {
      const sent = await commandsDuring(server.url, call)
      assert.deepEqual(
        sent.map(({ name }) => name),
        ['eval'],
        what,
      )
    }
  })

  it('has all keys under one prefix and in one slot, and keeps daily data for little longer than a day', async () => {
    const state = stateOn(client)
    await state.report('a', [nodeStatus('emails')])
    await state.change('emails')
    await state.count([
      { worker: 'emails', version: '1.0.0', completed: 1, failed: 0, lost: 0, timedOut: 0, cancelled: 0, totalMs: 1, durations: { 8: 1 } },
    ])
    const operation = { worker: 'emails', workerId: 'i', action: 'stop', generation: 1, targets: [], desired: 'running', at: 1 } as const
    await state.saveOperation({ id: 'o', ...operation })
    const keys = await client.keys('*')
    assert.deepEqual(
      keys.filter((key) => !key.startsWith(`${keyPrefix}${base}:`)),
      [],
    )
    const expiring = keys.filter((key) => /:(minutes|operations?):/.test(key))
    assert.equal(expiring.length, 3)
    for (const key of expiring) {
      const life = await client.pttl(key.slice(keyPrefix.length))
      assert.ok(life > 0 && life <= 25 * 3_600_000, `${key}: ${life}`)
    }
  })

  it('throws WORKER_CLUSTER_UNAVAILABLE without a client, and while Redis is down', async () => {
    for (const [state, lose] of [
      [stateOn(undefined), async () => undefined],
      [stateOn(client), () => server.kill()],
    ] as const) {
      await lose()
      const error = await state.totals(['w']).catch((thrown: unknown) => thrown)
      assert.deepEqual([(error as { code?: string }).code, (error as { status?: number }).status], ['WORKER_CLUSTER_UNAVAILABLE', 503])
      assert.equal(state.isUnavailable(error), true)
    }
    await server.start()
    await eventually('the client is back', () => client.status === 'ready')
    assert.equal(await stateOn(client).change('w'), 1)
  })
})

describe('with a Redis Cluster', () => {
  let server: RedisServer
  before(async () => {
    server = await redisClusterServer(asClient)
  })
  after(() => server.stop())

  stateContract('Redis Cluster', async () => onRedis(server.url))
})

const mysqlHost = () => createTestHost({ plugins: [database()], env: mysqlEnv() })
const prefix = `zin_${unique}`

describe('with MySQL or MariaDB', () => {
  after(async () => {
    const host = await mysqlHost()
    const { schema } = host.service(databaseService).tables()
    for (const table of Object.values(tableNames(prefix))) await schema.dropTable(table).ifExists().execute()
    await host.stop()
  })

  stateContract('MySQL or MariaDB', async () => {
    const hosts: Awaited<ReturnType<typeof mysqlHost>>[] = []
    return {
      async open() {
        const host = await mysqlHost()
        hosts.push(host)
        const service = host.service(databaseService)
        await createStateTables(service.tables(), prefix)
        await createDurationsTable(service.tables(), prefix)
        await addOutcomeCounts(service.tables(), prefix)
        return sqlState({ database: service, connection: 'default', prefix })
      },
      async close() {
        for (const host of hosts) await host.stop()
      },
    }
  })
})
