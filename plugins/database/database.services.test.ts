import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { systemClock } from 'zin'
import type { MysqlConfig } from './connections/config.js'
import { openSocket, query } from './connections/mysql-socket.js'
import { databaseContract } from './database.contract.js'
import { createDatabase, type OwnedDatabase } from './service.js'
import { memoryLog } from './testing/memory-log.js'

const server = new URL(process.env.TEST_MYSQL_URL ?? 'mysql://TEST_MYSQL_URL-is-not-set')
const login = {
  host: server.hostname,
  port: Number(server.port || 3306),
  user: decodeURIComponent(server.username),
  password: decodeURIComponent(server.password),
}

const admin = async (sql: string, values: readonly unknown[] = []): Promise<void> => {
  const socket = await openSocket(login, 5000)
  await query(socket, sql, values).finally(() => socket.destroy())
}

const makeDatabase = async (): Promise<{ config: MysqlConfig; clean(): Promise<void> }> => {
  const database = `zin_${randomUUID().slice(0, 8)}`
  await admin(`create database ${database} character set utf8mb4`)
  return {
    config: {
      name: 'default',
      driver: 'rdb',
      host: login.host,
      port: login.port,
      database,
      username: login.user,
      password: login.password,
      poolLimit: 3,
    },
    clean: () => admin(`drop database ${database}`),
  }
}

databaseContract('MySQL or MariaDB', makeDatabase)

describe('database on a server that answers with a refusal', () => {
  let store: Awaited<ReturnType<typeof makeDatabase>>
  let database: OwnedDatabase
  const open = (config: MysqlConfig): OwnedDatabase =>
    createDatabase({ configs: [config], clock: systemClock, log: memoryLog().log, connectTimeoutMs: 5000, acquireTimeoutMs: 300 })
  before(async () => {
    store = await makeDatabase()
    database = open(store.config)
    await database.connect()
  })
  after(async () => {
    await database.close()
    await store.clean()
  })

  it('fails at once on a wrong password or a missing database, and says what to correct', async () => {
    await assert.rejects(open({ ...store.config, password: 'wrong-password' }).connect(), (error) => {
      assert.match(String(error), /DB_USERNAME and DB_PASSWORD/)
      assert.doesNotMatch(String(error), /wrong-password/)
      return true
    })
    await assert.rejects(open({ ...store.config, database: 'zin_does_not_exist' }).connect(), {
      code: 'DATABASE_CONFIG',
      message: /create database zin_does_not_exist/,
    })
  })

  it('recovers by itself when the server closed its connections', async () => {
    const { rows } = {
      rows: await database
        .tables()
        .selectFrom('information_schema.processlist')
        .select('ID as id')
        .where('DB', '=', store.config.database)
        .execute(),
    }
    assert.ok(rows.length >= 1)
    await database.ping()
    await admin(`kill connection ${rows[0]?.id}`)
    await assert.doesNotReject(async () => {
      for (let attempt = 0; ; attempt++) {
        try {
          return await database.tables().selectFrom('information_schema.processlist').select('ID').execute()
        } catch (error) {
          if (attempt > 3 || !database.isUnavailable(error)) throw error
        }
      }
    })
    assert.ok(Number.isInteger(await database.ping()))
    assert.equal(database.connected, true)
  })
})
