import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { createTestHost, type TestHost } from 'zin/testing'
import { type MysqlServer, mysqlServer } from '../../scripts/testing/mysql-server.js'
import { type Database, database, databaseService } from './index.js'

describe('a database server that hangs', () => {
  let server: MysqlServer
  let host: TestHost
  let db: Database
  before(async () => {
    server = await mysqlServer()
    const limits = { DB_STATEMENT_TIMEOUT_MS: '300', DB_ACQUIRE_TIMEOUT_MS: '400', DB_POOL_LIMIT: '3' }
    host = await createTestHost({ plugins: [database()], env: { ...server.env, ...limits } })
    db = host.service(databaseService)
    await sql`create table counters (id integer primary key, n integer not null)`.execute(db.tables())
    await sql`insert into counters values (1, 0)`.execute(db.tables())
  })
  afterEach(() => server.resume())
  after(async () => {
    await host.stop()
    await server.stop()
  })

  const count = () => sql<{ n: number }>`update counters set n = n + 1 where id = 1`.execute(db.tables())
  const counted = async () => (await sql<{ n: number }>`select n from counters`.execute(db.tables())).rows[0]?.n
  const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length
  const unavailable = async (work: Promise<unknown>, message: RegExp) => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    assert.deepEqual([(error as { code?: string }).code, (error as { status?: number }).status], ['DATABASE_UNAVAILABLE', 503])
    assert.match(String(error), message)
    assert.equal(db.isUnavailable(error), true)
  }
  const late = /zin on 127\.0\.0\.1:\d+ did not respond to a statement within 300 ms/

  it('fails a statement, a transaction and a wait for a connection with a 503, and works again once the server does', async () => {
    await Promise.all([count(), count(), count()])
    const open = sockets()
    let entered = (): void => undefined
    const inside = new Promise<void>((resolve) => {
      entered = resolve
    })
    let go = (): void => undefined
    const hung = new Promise<void>((resolve) => {
      go = resolve
    })
    const transaction = db.transaction(async (tx) => {
      entered()
      await hung
      return sql`update counters set n = n + 1 where id = 1`.execute(tx)
    })
    await inside
    server.hang()
    go()
    await unavailable(transaction, late)
    await Promise.all([
      unavailable(count(), late),
      unavailable(count(), late),
      ...[1, 2].map(() => unavailable(count(), /did not respond|cannot be reached/)),
    ])
    assert.equal(db.connected, false)
    assert.ok(sockets() <= open, 'no connection to the server is left')

    server.resume()
    const before = await counted()
    // The statement that hung may have taken effect once; nothing was sent twice.
    assert.ok(before !== undefined && before >= 3 && before <= 8, `counted ${before}`)
    await Promise.all([count(), count(), count(), count()])
    assert.equal(await counted(), before + 4)
    assert.equal(db.connected, true)
  })

  it('kills a slow statement on the server', async () => {
    await unavailable(sql`select sleep(600)`.execute(db.tables()), late)
    const running = sql`select 1 from information_schema.processlist where info like 'select sleep(600)'`
    while ((await running.execute(db.tables())).rows.length > 0);
  })

  it('ends a stream that receives no further rows', async () => {
    const rows = db.tables<{ counters: { n: number } }>().selectFrom('counters').select(sql<number>`sleep(n)`.as('slept')).stream()
    await unavailable(rows.next(), late)
  })

  it('stops the boot when the server hangs before migrations', async () => {
    server.hang()
    await assert.rejects(
      createTestHost({ plugins: [database()], env: { ...server.env, DB_CONNECT_TIMEOUT_MS: '300' } }),
      /could not be reached within 300 ms/,
    )
  })
})
