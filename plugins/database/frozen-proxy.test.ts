import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import { after, afterEach, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { systemClock } from 'zin'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { health } from 'zin/plugins/health'
import { createTestHost, memoryLogger, type TestHost } from 'zin/testing'
import { type Database, database, databaseService } from './index.js'
import { createDatabase, type OwnedDatabase } from './service.js'

/** Forwards connections to a server until it hangs: then it accepts them but sends no response. It can also hold some requests back. */
async function startRelay() {
  let target = new URL('http://127.0.0.1:1')
  const sockets = new Set<Socket>()
  let hanging = false
  let holds = (_text: string): boolean => false
  const held: (() => void)[] = []
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    const behind = connect(Number(target.port), target.hostname)
    sockets.add(behind.on('error', () => undefined).on('close', () => socket.destroy()))
    socket.on('close', () => behind.destroy())
    behind.pipe(socket)
    // A held request sends nothing more, because its connection waits for the response.
    const hold = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        if (holds(chunk.toString())) held.push(() => done(null, chunk))
        else done(null, chunk)
      },
    })
    hold.pipe(behind)
    if (!hanging) socket.pipe(hold)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    to(url: string) {
      target = new URL(url)
    },
    held,
    /** Holds back the requests whose text matches; the calls in `held` send them on. */
    hold(matches: (text: string) => boolean) {
      holds = matches
    },
    letGo() {
      holds = () => false
      for (const send of held.splice(0)) send()
    },
    hang() {
      hanging = true
      for (const socket of sockets) socket.unpipe()
    },
    resume() {
      hanging = false
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

describe('a SQL proxy that is slow', () => {
  const secret = randomUUID()
  let proxy: TestHost
  let relay: Awaited<ReturnType<typeof startRelay>>
  let database: OwnedDatabase
  before(async () => {
    relay = await startRelay()
    proxy = await createTestHost({
      plugins: [edgeProxy()],
      env: { EDGE_REMOTE_SECRET: secret, EDGE_REMOTE_MODE: 'sql', EDGE_RATE_PER_MINUTE: '0' },
      app: { allowedHosts: [new URL(relay.url).host] },
      listen: true,
    })
    relay.to(proxy.url)
    const keys = { keyId: 'app', secret, mode: 'sql', headers: {}, headerPrefix: 'x-sig-' } as const
    database = createDatabase({
      configs: [{ name: 'default', driver: 'edge-remote', url: relay.url, poolLimit: 2, ...keys }],
      clock: systemClock,
      log: memoryLogger(),
      connectTimeoutMs: 5000,
      acquireTimeoutMs: 60_000,
      statementTimeoutMs: 60_000,
      migrationTimeoutMs: 60_000,
    })
    await database.connect()
    await sql`create table counters (id integer primary key, n integer not null)`.execute(database.tables())
  })
  after(async () => {
    relay?.letGo()
    await database?.close()
    await relay?.close()
    await proxy?.stop()
  })

  it('responds to pings while more statements and batches than DB_POOL_LIMIT are in progress', async () => {
    relay.hold((text) => text.includes('counters'))
    const db = database.tables<{ counters: { id: number; n: number } }>()
    const insert = (id: number) => db.insertInto('counters').values({ id, n: 0 })
    const work = [insert(1).execute(), database.batch([insert(2)]), database.batch([insert(3)]), database.batch([insert(4)])]
    while (relay.held.length < 2) await setImmediate()
    assert.ok(Number.isInteger(await database.ping()))
    assert.equal(relay.held.length, 2)
    relay.letGo()
    await Promise.all(work)
    assert.equal((await db.selectFrom('counters').selectAll().execute()).length, 4)
  })

  it('leaves no lock of migrations behind when a renewal of the lock arrives late', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const ended = database.main.exclusive(async () => {
      relay.hold((text) => /update .*zin_migration_lock/.test(text))
      t.mock.timers.tick(10_000)
      while (relay.held.length < 1) await setImmediate()
    })
    while (relay.held.length < 1) await setImmediate()
    // Without the wait for the renewal, the release arrives here and overtakes it.
    for (let turn = 0; turn < 200 && relay.held.length < 2; turn += 1) await setImmediate()
    for (const send of relay.held.splice(1)) send()
    for (let turn = 0; turn < 200; turn += 1) await setImmediate()
    relay.letGo()
    await ended
    const lock = await sql<{ lease_until: number }>`select lease_until from zin_migration_lock`.execute(database.tables())
    assert.deepEqual(lock.rows, [{ lease_until: 0 }])
  })
})

describe('a SQL proxy that hangs', () => {
  const secret = randomUUID()
  let proxy: TestHost
  let relay: Awaited<ReturnType<typeof startRelay>>
  let host: TestHost
  let db: Database
  before(async () => {
    relay = await startRelay()
    const keys = { EDGE_REMOTE_SECRET: secret, EDGE_REMOTE_MODE: 'sql' }
    proxy = await createTestHost({
      plugins: [edgeProxy()],
      env: { ...keys, EDGE_RATE_PER_MINUTE: '0' },
      app: { allowedHosts: [new URL(relay.url).host] },
      listen: true,
    })
    relay.to(proxy.url)
    const env = { ...keys, DB_CONNECTION: 'edge-remote', EDGE_REMOTE_URL: relay.url, EDGE_REMOTE_KEY_ID: 'app' }
    const limits = { DB_STATEMENT_TIMEOUT_MS: '300', DB_ACQUIRE_TIMEOUT_MS: '2000', DB_POOL_LIMIT: '2' }
    host = await createTestHost({ plugins: [database(), health()], env: { ...env, ...limits } })
    db = host.service(databaseService)
    await sql`create table counters (id integer primary key, n integer not null)`.execute(db.tables())
    await sql`insert into counters values (1, 0)`.execute(db.tables())
  })
  afterEach(() => relay.resume())
  after(async () => {
    await host?.stop()
    await relay?.close()
    await proxy?.stop()
  })

  const count = () => sql`update counters set n = n + 1 where id = 1`.execute(db.tables())
  const failure = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => assert.fail('it ended'),
      (thrown: unknown) => thrown as { code: string; status: number; message: string },
    )
    assert.deepEqual([error.code, error.status, db.isUnavailable(error)], ['DATABASE_UNAVAILABLE', 503, true])
    return error.message
  }

  it('fails statements and batches with a 503 by the deadline, retries no write, and works again afterwards', async () => {
    await Promise.all([count(), count()])
    relay.hang()
    assert.match(await failure(count()), /DEADLINE_EXCEEDED.* 300 ms.*Whether a statement took effect is unknown/)
    await Promise.all([failure(count()), failure(count()), failure(count())])
    await failure(db.batch([db.tables().deleteFrom('counters')]))
    assert.equal(db.connected, false)
    assert.equal((await host.inject({ path: '/health/live' })).status, 200)
    relay.resume()
    await count()
    const { rows } = await sql<{ n: number }>`select n from counters`.execute(db.tables())
    assert.equal(rows[0]?.n, 3)
    assert.equal(db.connected, true)
  })

  it('makes the app not ready while it hangs, and ready again afterwards', async () => {
    relay.hang()
    assert.equal((await host.inject({ path: '/health/ready' })).status, 503)
    relay.resume()
    assert.equal((await host.inject({ path: '/health/ready' })).status, 200)
  })
})
