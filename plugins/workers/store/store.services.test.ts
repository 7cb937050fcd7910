import { randomUUID } from 'node:crypto'
import { database, databaseService } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { createWorkersTable } from '../migrations/create-workers.js'
import { dbStore } from './db.js'
import { kvStore } from './kv.js'
import { storeContract } from './store.contract.js'

const unique = randomUUID().slice(0, 8)

storeContract('kvstore on Redis', async () => {
  const env = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }
  const host = await createTestHost({ plugins: [database(), kv()], env })
  return { store: kvStore(host.service(kvService), `workers-${unique}`), close: async () => void (await host.stop()) }
})

storeContract('db on MySQL or MariaDB', async () => {
  const server = new URL(process.env.TEST_MYSQL_URL ?? 'mysql://TEST_MYSQL_URL-is-not-set')
  const env = {
    DB_CONNECTION: 'rdb',
    DB_HOST: server.hostname,
    DB_PORT: server.port || '3306',
    DB_DATABASE: server.pathname.slice(1),
    DB_USERNAME: decodeURIComponent(server.username),
    DB_PASSWORD: decodeURIComponent(server.password),
  }
  const table = `zin_workers_${unique}`
  const host = await createTestHost({ plugins: [database()], env })
  const service = host.service(databaseService)
  await createWorkersTable(service.tables(), table, service.dialect)
  const close = async (): Promise<void> => {
    await service.tables().schema.dropTable(table).execute()
    await host.stop()
  }
  return { store: dbStore(service, 'default', table), close }
})
