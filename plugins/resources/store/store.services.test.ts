import { after, before, describe } from 'node:test'
import { databaseService } from 'zin/plugins/database'
import type { TestHost } from 'zin/testing'
import { mysqlEnv } from '../../../scripts/testing/mysql-database.js'
import { hostWithTable } from '../testing/host-with-table.js'
import { databaseStore } from './db.js'
import { resourceStoreContract } from './store.contract.js'

describe('the history of resources', () => {
  let host: TestHost
  before(async () => {
    host = await hostWithTable(mysqlEnv())
  })
  after(() => host.stop())
  resourceStoreContract('MariaDB', () => databaseStore(host.service(databaseService)))
})
