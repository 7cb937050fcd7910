import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Miniflare } from 'miniflare'
import { database, databaseService } from 'zin/plugins/database'
import { type Kv, kv, kvService } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { overriding } from '../testing/helpers.js'
import { stored } from '../testing/stored-worker.js'
import { dbStore } from './db.js'
import { type EdgeSqlBinding, edgeSqlStore } from './edge-sql.js'
import { kvStore } from './kv.js'
import { memoryStore } from './memory.js'
import { storeContract } from './store.contract.js'

it('a writer on a key-value store that was frozen between its look and its write overwrites nothing newer', async (t) => {
  const host = await createTestHost({ plugins: [database(), kv()] })
  t.after(() => host.stop())
  const service = host.service(kvService)
  const worker = stored('frozen')
  const key = 'my_app:workers:frozen'
  const [mine, newer] = [
    { ...worker, generation: 2, updatedAt: 1 },
    { ...worker, generation: 2, updatedAt: 2 },
  ]
  const frozen = overriding<Kv>(service, {
    async set(written, value, options) {
      if (written === key) await service.set(key, JSON.stringify(newer))
      return service.set(written, value, options)
    },
  })
  await kvStore(service, 'my_app').insert(worker)
  assert.equal(await kvStore(frozen, 'my_app').replace(mine), false)
  assert.deepEqual(await kvStore(service, 'my_app').get('frozen'), newer)
})

storeContract('memory', async () => ({ store: memoryStore(), close: async () => undefined }))

storeContract('kvstore on the embedded store', async () => {
  const host = await createTestHost({ plugins: [database(), kv()] })
  const service = host.service(kvService)
  const open = () => kvStore(service, 'my_app')
  // Each insertion is three writes to the disk.
  return { store: open(), second: open(), many: 200, close: async () => void (await host.stop()) }
})

storeContract('db on SQLite', async () => {
  const host = await createTestHost({ plugins: [database()] })
  const open = () => dbStore(host.service(databaseService), { connection: 'default', table: 'zin_workers', migrated: false })
  return { store: open(), second: open(), close: async () => void (await host.stop()) }
})

storeContract('edge-sql on D1', async () => {
  const miniflare = new Miniflare({
    modules: true,
    script: 'export default { fetch: () => new Response() }',
    compatibilityDate: '2025-01-01',
    d1Databases: { DB: 'workers' },
  })
  const binding = (await miniflare.getD1Database('DB')) as EdgeSqlBinding
  const open = () => edgeSqlStore(binding, 'zin_workers')
  return { store: open(), second: open(), many: 200, close: () => miniflare.dispose() }
})
