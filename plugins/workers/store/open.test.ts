import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SettingValues } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import { type Kv, kv, kvService } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { workerSettings } from '../settings.js'
import { stored } from '../testing/stored-worker.js'
import { kvStore } from './kv.js'
import { Mongo } from './mongo.js'
import { openStores } from './open.js'
import { StoreRegistry } from './registry.js'

const settings = Object.fromEntries(Object.entries(workerSettings).map(([name, spec]) => [name, spec.default])) as unknown as SettingValues<
  typeof workerSettings
>
const placed = (persistence: object) => stored('placed', {}, { infrastructure: { persistence } }).record

describe('the stores of workers', () => {
  it('follow the plugins of the app, and code may name other locations', async () => {
    const host = await createTestHost({ plugins: [database({ connections: { reports: { driver: 'sqlite' } } }), kv()] })
    const services = { database: host.service(databaseService), kv: host.service(kvService) }
    const { stores, open, close } = openStores({ host: host.host.view, settings, services })
    assert.deepEqual(
      stores.map(({ driver, place }) => [driver, place]),
      [
        ['memory', {}],
        ['kvstore', { keyPrefix: host.host.view.app.name.replaceAll(' ', '_') }],
        ['db', { connection: 'default', table: 'zin_workers' }],
      ],
    )
    for (const migration of stores.flatMap((store) => store.migrations ?? [])) await migration.up(services.database.tables())
    const storeRegistry = new StoreRegistry(stores, open)
    const trusted = { trusted: true }
    for (const place of [
      { driver: 'db', connection: 'reports' },
      { driver: 'db', table: 'other' },
      { driver: 'kvstore', keyPrefix: 'other' },
    ]) {
      const store = await storeRegistry.storeOf(placed(place), trusted)
      const worker = stored(`in-${Object.values(place).join('-')}`)
      assert.equal(await storeRegistry.insert(store, worker), 'inserted')
      assert.deepEqual(await storeRegistry.find(worker.record.name), { store, worker })
    }
    assert.equal((await services.database.tables('reports').selectFrom('zin_workers').selectAll().execute()).length, 1)
    const refused = { code: 'INVALID_PERSISTENCE_CONFIG' }
    const wrong = [
      { driver: 'db', connection: 'nowhere' },
      { driver: 'db', keyPrefix: 'x' },
      { driver: 'memory', table: 'x' },
      { driver: 'docstore' },
      { driver: 'edge-sql' },
    ]
    for (const place of wrong) await assert.rejects(storeRegistry.storeOf(placed(place), trusted), refused, JSON.stringify(place))
    await assert.rejects(storeRegistry.storeOf(placed({ driver: 'db' }), { trusted: true, client: services.kv }), refused)
    await assert.rejects(storeRegistry.storeOf(placed({ driver: 'memory' }), { trusted: true, client: {} }), refused)
    const given = await storeRegistry.storeOf(placed({ driver: 'kvstore', keyPrefix: 'given' }), { trusted: true, client: services.kv })
    assert.deepEqual(given.place, { keyPrefix: 'given' })
    await close()
    await host.stop()
  })

  it('are a boot error if the configured driver has no backend', () => {
    const services = { database: undefined, kv: undefined }
    const host = { app: { name: 'app' } } as Parameters<typeof openStores>[0]['host']
    for (const [driver, needs] of Object.entries({
      kvstore: /plugin kv/,
      db: /plugin database/,
      docstore: /MONGODB_URL/,
      'edge-sql': /binding/,
    })) {
      const chosen = { ...settings, WORKER_PERSISTENCE_DRIVER: driver as 'db' }
      assert.throws(() => openStores({ host, settings: chosen, services }), { code: 'WORKERS_MISCONFIGURED', message: needs })
    }
    assert.deepEqual(openStores({ host, settings, services }).stores.length, 1)
  })

  it('are read from any key-value store in one round trip, once their workers are known', async () => {
    const host = await createTestHost({ plugins: [database(), kv()] })
    const real = host.service(kvService)
    let trips = 0
    const counted = { ...real, getMany: (keys: readonly string[]) => (trips++, real.getMany(keys)) } as Kv
    const [writer, reader] = [kvStore(real, 'shared'), kvStore(counted, 'shared')]
    const query = { offset: 0, limit: 100, inactive: false }
    for (let index = 0; index < 30; index++) await writer.insert(stored(`worker-${index}`))
    await reader.page(query)
    trips = 0
    assert.equal((await reader.page(query)).total, 30)
    assert.equal(trips, 1)
    const [first] = await writer.all()
    assert.ok(first && (await writer.remove(first)))
    await writer.insert(stored('newcomer'))
    assert.equal((await reader.page(query)).total, 30)
    assert.ok((await reader.all()).some(({ record }) => record.name === 'newcomer'))
    assert.equal((JSON.parse((await real.get('shared:workers')) ?? '') as unknown[]).length, 30, 'a removed worker leaves the index')
    await host.stop()
  })
})

describe('the connection to MongoDB', () => {
  const options = { fallback: 'app', timeoutMs: 300, appName: 'app' }

  it('states what to install if the driver is missing', async () => {
    const missing = Object.assign(new Error('no'), { code: 'ERR_MODULE_NOT_FOUND' })
    const mongo = new Mongo({ ...options, url: 'mongodb://127.0.0.1:1/x', load: () => Promise.reject(missing) })
    await assert.rejects(mongo.database(), { code: 'WORKERS_MISCONFIGURED', message: /npm install mongodb/ })
    await mongo.close()
  })

  it('refuses an invalid MongoDB URL without repeating any of it', async () => {
    for (const url of ['http://hunter2@h/x', 'mongodb://', 'hunter2', 'mongodb://u:hunter2@h/x?tls=maybe', 'mongodb://u:hunt/er2@h']) {
      const mongo = new Mongo({ ...options, url })
      await assert.rejects(mongo.database(), (error) => {
        assert.match(String(error), /MONGODB_URL is not a MongoDB URL/)
        assert.doesNotMatch(String(error), /hunter2|er2/)
        return true
      })
      await mongo.close()
    }
  })

  it('throws a 503 while there is no server, keeps nothing open, and retries', async () => {
    const host = { app: { name: 'app' } } as Parameters<typeof openStores>[0]['host']
    const chosen = { ...settings, MONGODB_URL: 'mongodb://127.0.0.1:1/x', WORKER_CONNECTION_TIMEOUT: 100 }
    const { stores, close } = openStores({ host, settings: chosen, services: { database: undefined, kv: undefined } })
    const store = stores.find(({ driver }) => driver === 'docstore')
    for (const _try of [1, 2]) await assert.rejects(async () => store?.get('x'), { code: 'WORKER_STORE_UNAVAILABLE', status: 503 })
    await close()
  })
})
