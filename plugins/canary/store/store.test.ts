import { after, before } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost, type TestHost } from 'zin/testing'
import { kvStore } from './kv.js'
import { memoryStore } from './memory.js'
import { canaryStoreContract } from './store.contract.js'

const memory = memoryStore()
canaryStoreContract('memory', () => memory)

let host: TestHost
before(async () => {
  host = await createTestHost({ plugins: [database(), kv()] })
})
after(() => host.stop())
canaryStoreContract('a table of SQLite', () => kvStore(host.service(kvService), 'database'))
