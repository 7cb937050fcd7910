import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { health } from 'zin/plugins/health'
import { createTestHost, type TestHost } from 'zin/testing'
import { type Database, database, databaseService } from './index.js'

/** Passes connections on to a server, until it hangs: then it accepts them and answers nothing. */
async function startRelay() {
  let target = new URL('http://127.0.0.1:1')
  const sockets = new Set<Socket>()
  let hanging = false
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    const behind = connect(Number(target.port), target.hostname)
    sockets.add(behind.on('error', () => undefined).on('close', () => socket.destroy()))
    socket.on('close', () => behind.destroy())
    behind.pipe(socket)
    if (!hanging) socket.pipe(behind)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    to(url: string) {
      target = new URL(url)
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

  it('fails statements and batches in time with a 503, repeats no write, and works again afterwards', async () => {
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

  it('is not ready meanwhile, and ready again afterwards', async () => {
    relay.hang()
    assert.equal((await host.inject({ path: '/health/ready' })).status, 503)
    relay.resume()
    assert.equal((await host.inject({ path: '/health/ready' })).status, 200)
  })
})
