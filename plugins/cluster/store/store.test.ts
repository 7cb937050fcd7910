import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from 'zin'
import { type Database, database, databaseService } from 'zin/plugins/database'
import { createTestHost, fakeClock, memoryLogger } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { defineMessage } from '../contract.js'
import { createCluster as createClusterTables } from '../migrations/0001-create-cluster.js'
import { openNode, silentLog } from '../testing/cluster-pair.js'
import { ageCluster } from './age.contract.js'
import { clusterContract, type TestedStore } from './cluster.contract.js'
import { MemoryHub, memoryStore } from './memory.js'
import { sqlStore } from './sql/sql.js'

const noted = defineMessage<string>('test.noted')
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

clusterContract('memory', async (): Promise<TestedStore> => {
  const clock = fakeClock(systemClock.now())
  const hub = new MemoryHub()
  return { open: async () => memoryStore({ clock, hub }), age: async (ms) => clock.advance(ms), close: async () => undefined }
})

describe('the cluster in memory', () => {
  for (const [title, hours] of [
    ['forward', 1],
    ['back', -1],
  ] as const) {
    it(`keeps the lease and the role of a node when the clock goes ${title} by an hour, and ends them in time`, async () => {
      const clock = fakeClock()
      const store = memoryStore({ clock })
      const info = { id: 'a', host: 'h', pid: 1, startedAt: clock.now(), labels: {} }
      await store.renew(info, 10_000, true)
      assert.equal(await store.acquire('r', 'a'), 1)
      clock.set(clock.now() + hours * 3_600_000)
      const lease = async () =>
        (await store.read()).nodes.map(({ alive, leaseMs, leaseUntil }) => [alive, leaseMs, leaseUntil - clock.now()])
      assert.deepEqual(await lease(), [[true, 10_000, 10_000]])
      assert.equal(await store.acquire('r', 'a'), 1)
      clock.advance(10_000)
      assert.equal((await store.read()).nodes[0]?.alive, false)
      assert.equal(await store.acquire('r', 'a'), undefined)
    })
  }
})

const storeOf = (service: Database, log = silentLog) => sqlStore({ database: service, name: 'test', clock: systemClock, log })

async function sqlite() {
  const host = await createTestHost({ plugins: [database()] })
  const service = host.service(databaseService)
  await createClusterTables.up(service.tables())
  return { host, service }
}

clusterContract('SQLite', async (): Promise<TestedStore> => {
  const { host, service } = await sqlite()
  return {
    open: async () => storeOf(service),
    age: (ms) => ageCluster(service.tables(), ms),
    close: async () => void (await host.stop()),
  }
})

describe('the cluster on SQLite', () => {
  it('isolates clusters with different names', async () => {
    const { host, service } = await sqlite()
    const [mine, others] = [await openNode(storeOf(service)), await openNode(sqlStore({ ...optionsOf(service), name: 'other' }))]
    const heard: string[] = []
    mine.on(noted, (text) => heard.push(text))
    await others.send(noted, 'not for me')
    await mine.send(noted, 'for me')
    await eventually('a message', () => heard.length > 0)
    assert.deepEqual([heard, (await mine.readNodes()).length], [['for me'], 1])
    await Promise.all([mine.close(), others.close()])
    await host.stop()
  })

  it('deletes old messages, and reverts its migration', async () => {
    const { host, service } = await sqlite()
    await createClusterTables.up(service.tables())
    const node = await openNode(storeOf(service))
    const messages = async () => (await service.tables().selectFrom('zin_cluster_messages').selectAll().execute()).length
    await node.send(noted, 'text')
    const before = await messages()
    await node.sweep()
    assert.ok(before > 0 && (await messages()) === before)
    await ageCluster(service.tables(), 3_000_000)
    await node.sweep()
    assert.equal(await messages(), 0)
    await node.close()
    await createClusterTables.down(service.tables())
    await assert.rejects(storeOf(service).read(), /no such table/)
    await host.stop()
  })

  it('reports an unavailable database, and leaves no timer', async () => {
    const before = timers()
    const { host, service } = await sqlite()
    const node = await openNode(storeOf(service))
    await node.close()
    await host.stop()
    const error = await node.readNodes().catch((thrown: unknown) => thrown)
    assert.deepEqual([(error as { code?: string }).code, (error as { status?: number }).status], ['CLUSTER_UNAVAILABLE', 503])
    assert.equal(node.isUnavailable(error), true)
    assert.equal(timers(), before)
  })

  it('receives messages after the database was unavailable, and reports that some may be missing', async () => {
    const { host, service } = await sqlite()
    let away = false
    const flaky: Database = new Proxy(service, {
      get(target, key) {
        if (key === 'tables' && away) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const log = memoryLogger()
    const node = await openNode(storeOf(flaky, log))
    const other = await openNode(storeOf(service))
    const heard: string[] = []
    node.on(noted, (text) => heard.push(text))
    node.onMissed(() => heard.push('missed'))
    await other.send(noted, 'before')
    await eventually('a message', () => heard.length === 1)
    away = true
    await eventually('a warning', () => log.lines.length > 0)
    await other.send(noted, 'meanwhile')
    away = false
    await eventually('both', () => heard.length === 3)
    assert.deepEqual(heard, ['before', 'missed', 'meanwhile'])
    assert.deepEqual(
      log.lines.map(({ level }) => level),
      ['warn', 'info'],
    )
    await Promise.all([node.close(), other.close()])
    await host.stop()
  })

  it('skips messages that arrive faster than they can be read, and reports it', async () => {
    const { host, service } = await sqlite()
    const node = await openNode(storeOf(service))
    const heard: string[] = []
    node.onMissed(() => heard.push('missed'))
    node.on(noted, (text) => (text === 'last' ? heard.push(text) : undefined))
    const row = { cluster: 'test', body: JSON.stringify({ kind: 'test.noted', from: 'x', body: 'flood' }), sent_at: systemClock.now() }
    await service.transaction(async (tx) => {
      for (let n = 0; n < 13; n++)
        await tx
          .insertInto('zin_cluster_messages')
          .values(Array.from({ length: 1_000 }, () => row))
          .execute()
    })
    await eventually('it says so', () => heard.includes('missed'))
    await node.send(noted, 'last')
    await eventually('the last', () => heard.includes('last'))
    await node.close()
    await host.stop()
  })
})

function optionsOf(service: Database) {
  return { database: service, clock: systemClock, log: silentLog }
}
