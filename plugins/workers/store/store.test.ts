import { Miniflare } from 'miniflare'
import { database, databaseService } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { dbStore } from './db.js'
import { type EdgeSqlBinding, edgeSqlStore } from './edge-sql.js'
import { kvStore } from './kv.js'
import { memoryStore } from './memory.js'
import { storeContract } from './store.contract.js'

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
