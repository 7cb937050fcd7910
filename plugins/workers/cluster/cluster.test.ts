import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from 'zin'
import { type Database, database, databaseService } from 'zin/plugins/database'
import { createTestHost, fakeClock, memoryLogger } from 'zin/testing'
import { clusterMigration } from '../migrations/create-cluster.js'
import { onConnection } from '../migrations/on-connection.js'
import { eventually, hear, levelsOf, overriding, silentLog, timers } from '../testing/helpers.js'
import { type ClusterStore, clusterContract } from './cluster.contract.js'
import { dayMs } from './keep.js'
import { memoryCluster } from './memory.js'
import { ageSql } from './sql/age.contract.js'
import { sqlCluster } from './sql/sql-cluster.js'

clusterContract('memory', async (): Promise<ClusterStore> => {
  const clock = fakeClock(systemClock.now())
  const cluster = memoryCluster({ clock })
  return { open: async () => cluster, age: async (ms) => clock.advance(ms), close: async () => undefined }
})

const openSql = async (service: Database, prefix: string, connection = 'default') => {
  const cluster = sqlCluster({ database: service, connection, prefix, clock: systemClock, log: silentLog })
  await cluster.open()
  return cluster
}

clusterContract('SQLite', async (): Promise<ClusterStore> => {
  const host = await createTestHost({ plugins: [database()] })
  const service = host.service(databaseService)
  await clusterMigration('zin_worker').up(service.tables())
  return {
    open: () => openSql(service, 'zin_worker'),
    age: (ms) => ageSql(service.tables(), 'zin_worker', ms),
    close: async () => void (await host.stop()),
  }
})

describe('the cluster in memory', () => {
  it('keeps minutes and operations for a day', async () => {
    const clock = fakeClock()
    const cluster = memoryCluster({ clock })
    const started = clock.now()
    await cluster.count([{ worker: 'w', version: '1.0.0', completed: 1, failed: 0, lost: 0, totalMs: 1 }])
    const operation = {
      id: 'o',
      worker: 'w',
      workerId: 'i',
      action: 'stop',
      generation: 1,
      targets: [],
      desired: 'running' as const,
      at: started,
    }
    await cluster.saveOperation(operation)
    clock.advance(dayMs - 1)
    await cluster.sweep()
    assert.equal((await cluster.minutes('w', 0)).length, 1)
    assert.deepEqual(await cluster.operation('o'), operation)
    clock.advance(2)
    assert.equal((await cluster.minutes('w', 0)).length, 0)
    assert.equal(await cluster.operation('o'), undefined)
    await cluster.sweep()
    assert.equal((await cluster.totals(['w'])).get('w')?.completed, 1)
  })
})

describe('the cluster on SQLite', () => {
  it('works on another connection, where its migration runs again on tables that were there', async () => {
    const host = await createTestHost({ plugins: [database({ connections: { second: { driver: 'sqlite', file: 'second.db' } } })] })
    const service = host.service(databaseService)
    const [migration] = onConnection(service, 'second', [clusterMigration('mine')])
    for (let times = 0; times < 2; times++) {
      await migration?.up(service.tables())
      const cluster = await openSql(service, 'mine', 'second')
      await cluster.announce('w')
      assert.deepEqual(await cluster.nodes(), [])
      await cluster.close()
    }
    await host.stop()
  })

  it('forgets messages, minutes and operations that are old, and undoes its migration', async () => {
    const host = await createTestHost({ plugins: [database()] })
    const service = host.service(databaseService)
    const migration = clusterMigration('zin_worker')
    await migration.up(service.tables())
    await migration.up(service.tables())
    const cluster = await openSql(service, 'zin_worker')
    const rows = async (table: string) => (await service.tables().selectFrom(table).selectAll().execute()).length
    await cluster.announce('w')
    await cluster.count([{ worker: 'w', version: '1.0.0', completed: 1, failed: 0, lost: 0, totalMs: 1 }])
    await cluster.saveOperation({
      id: 'o',
      worker: 'w',
      workerId: 'i',
      action: 'stop',
      generation: 1,
      targets: [],
      desired: 'running',
      at: 1,
    })
    const kept = async () => Promise.all(['zin_worker_messages', 'zin_worker_minutes', 'zin_worker_operations'].map(rows))
    await cluster.sweep()
    assert.deepEqual(await kept(), [1, 1, 1])
    await ageSql(service.tables(), 'zin_worker', dayMs + 60_000)
    assert.equal(await cluster.operation('o'), undefined)
    assert.deepEqual(await cluster.minutes('w', 0), [])
    await cluster.sweep()
    assert.deepEqual(await kept(), [0, 0, 0])
    assert.equal((await cluster.totals(['w'])).get('w')?.completed, 1)
    await cluster.close()
    await migration.down(service.tables())
    await assert.rejects(cluster.nodes(), /no such table/)
    await host.stop()
  })

  it('says that the database is away when it is, and leaves no timer', async () => {
    const before = timers()
    const host = await createTestHost({ plugins: [database()] })
    const service = host.service(databaseService)
    await clusterMigration('zin_worker').up(service.tables())
    const cluster = await openSql(service, 'zin_worker')
    const { count } = hear(cluster)
    await cluster.announce('w')
    await count(1)
    await cluster.close()
    await host.stop()
    const error = await cluster.nodes().catch((thrown: unknown) => thrown)
    assert.equal((error as { code?: string }).code, 'WORKER_CLUSTER_UNAVAILABLE')
    assert.equal((error as { status?: number }).status, 503)
    assert.equal(cluster.isUnavailable(error), true)
    assert.equal(timers(), before)
  })

  it('hears on after the database was away, and says that messages may be missing', async () => {
    const host = await createTestHost({ plugins: [database()] })
    const service = host.service(databaseService)
    await clusterMigration('zin_worker').up(service.tables())
    let away = false
    const flaky = overriding(service, {
      tables: (name) => {
        if (away) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
        return service.tables(name)
      },
    })
    const log = memoryLogger()
    const cluster = sqlCluster({ database: flaky, connection: 'default', prefix: 'zin_worker', clock: systemClock, log })
    await cluster.open()
    const { heard, count } = hear(cluster)
    await cluster.announce('before')
    await count(1)
    away = true
    await eventually('a warning', () => log.lines.length > 0)
    await assert.rejects(cluster.announce('lost'), { code: 'WORKER_CLUSTER_UNAVAILABLE' })
    await (await openSql(service, 'zin_worker')).announce('meanwhile')
    away = false
    await count(3)
    assert.deepEqual(heard.slice(1), [{ kind: 'resync' }, { kind: 'change', worker: 'meanwhile' }])
    assert.deepEqual(levelsOf(log), ['warn', 'info'])
    await cluster.close()
    await host.stop()
  })
})
