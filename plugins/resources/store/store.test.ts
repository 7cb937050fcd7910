import { after, before, describe } from 'node:test'
import { databaseService } from 'zin/plugins/database'
import type { TestHost } from 'zin/testing'
import { hostWithTable } from '../testing/host-with-table.js'
import { databaseStore } from './db.js'
import { memoryStore } from './memory.js'
import { resourceStoreContract } from './store.contract.js'

describe('the history of resources', () => {
  let host: TestHost
  before(async () => {
    host = await hostWithTable()
  })
  after(() => host.stop())
  const memory = memoryStore()
  resourceStoreContract('memory', () => memory)
  resourceStoreContract('SQLite', () => databaseStore(host.service(databaseService)))
})
