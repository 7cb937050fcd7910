import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type QueryExecutorProvider, sql } from 'kysely'
import { systemClock } from 'zin'
import { memoryLogger } from 'zin/testing'
import type { MysqlConfig } from './connections/config.js'
import { query } from './connections/mysql-session.js'
import { openSocket } from './connections/mysql-socket.js'
import { databaseContract, limits } from './database.contract.js'
import { createDatabase, type OwnedDatabase } from './service.js'

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

describe('database on a server that refuses the connection', () => {
  let store: Awaited<ReturnType<typeof makeDatabase>>
  let database: OwnedDatabase
  const open = (config: MysqlConfig): OwnedDatabase =>
    createDatabase({ configs: [config], clock: systemClock, log: memoryLogger(), connectTimeoutMs: 5000, acquireTimeoutMs: 300, ...limits })
  before(async () => {
    store = await makeDatabase()
    database = open(store.config)
    await database.connect()
  })
  after(async () => {
    await database.close()
    await store.clean()
  })

  it('fails immediately on a wrong password or a missing database, and names what to correct', async () => {
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

  it('refuses a statement that is larger than the server accepts, as what it is, and keeps its connections', async () => {
    const lengthOf = async (text: string): Promise<number> => {
      const { rows } = await sql<{ length: number }>`select char_length(${text}) as length`.execute(database.tables())
      return Number(rows[0]?.length)
    }
    const limit = Number((await sql<{ bytes: number }>`select @@max_allowed_packet as bytes`.execute(database.tables())).rows[0]?.bytes)
    // Each quote takes two bytes in the statement.
    const fits = "'".repeat(limit / 2 - 200)
    assert.equal(await lengthOf(fits), fits.length)
    for (const text of ['x'.repeat(limit), `${fits}${"'".repeat(200)}`, 'ä'.repeat(limit / 2)]) {
      await assert.rejects(lengthOf(text), (error) => {
        assert.match(String(error), /max_allowed_packet/)
        assert.equal(database.isUnavailable(error), false)
        return true
      })
    }
    assert.equal(await lengthOf('still here'), 10)
  })

  it('reconnects when the server closed its connections', async () => {
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

describe('database after a deadlock', () => {
  let store: Awaited<ReturnType<typeof makeDatabase>>
  let database: OwnedDatabase
  before(async () => {
    store = await makeDatabase()
    database = createDatabase({
      configs: [store.config],
      clock: systemClock,
      log: memoryLogger(),
      connectTimeoutMs: 5000,
      acquireTimeoutMs: 5000,
      ...limits,
    })
    await database.connect()
    await sql`create table counters (id integer primary key, n integer not null)`.execute(database.tables())
  })
  beforeEach(async () => {
    await sql`replace into counters (id, n) values (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)`.execute(database.tables())
  })
  after(async () => {
    await database.close()
    await store.clean()
  })

  const add = (db: QueryExecutorProvider, id: number) => sql`update counters set n = n + 1 where id = ${id}`.execute(db)

  /** Holds row 1, then updates row 2 once `other` holds it; the server rolls back the one with fewer changes: `other`. */
  const conflictWith = async (other: () => Promise<unknown>): Promise<void> => {
    const work = database.tables().transaction()
    let begun: Promise<unknown> | undefined
    await work.execute(async (tx) => {
      for (const id of [1, 3, 4, 5, 6]) await add(tx, id)
      begun = other()
      const free = sql`select id from counters where id = 2 for update skip locked`
      while ((await free.execute(database.tables())).rows.length > 0);
      await add(tx, 2)
    })
    await begun
  }
  const counters = async () => {
    const { rows } = await sql<{ n: number }>`select n from counters where id < 3 order by id`.execute(database.tables())
    return rows.map(({ n }) => n)
  }

  it('retries a single statement', async () => {
    await conflictWith(() => sql`update counters set n = n + 10 where id < 3 order by id desc`.execute(database.tables()))
    assert.deepEqual(await counters(), [11, 11])
  })

  it('retries a transaction as a whole', async () => {
    let times = 0
    await conflictWith(() =>
      database.transaction(async (tx) => {
        times++
        await add(tx, 2)
        await add(tx, 1)
      }),
    )
    assert.equal(times, 2)
    assert.deepEqual(await counters(), [2, 2])
  })

  it('does not retry a single statement of a transaction that was rolled back', async () => {
    await conflictWith(() => {
      const other = database.tables().transaction()
      const lost = other.execute(async (tx) => {
        await add(tx, 2)
        await add(tx, 1)
      })
      return assert.rejects(lost, (error) => database.isUnavailable(error))
    })
    assert.deepEqual(await counters(), [1, 1])
  })
})
