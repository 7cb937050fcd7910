import { database, databaseService } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { createWorkersTable } from '../migrations/create-workers.js'
import { dbStore } from './db.js'
import { kvStore } from './kv.js'
import { memoryStore } from './memory.js'
import { storeContract } from './store.contract.js'

storeContract('memory', async () => ({ store: memoryStore(), close: async () => undefined }))

storeContract('kvstore on the embedded store', async () => {
  const host = await createTestHost({ plugins: [database(), kv()] })
  return { store: kvStore(host.service(kvService), 'my_app'), close: async () => void (await host.stop()) }
})

storeContract('db on SQLite', async () => {
  const host = await createTestHost({ plugins: [database()] })
  const service = host.service(databaseService)
  await createWorkersTable(service.tables(), 'zin_workers', service.dialect)
  return { store: dbStore(service, 'default', 'zin_workers'), close: async () => void (await host.stop()) }
})
