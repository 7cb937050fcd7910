import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type EventEmitter, once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { database } from 'zin/plugins/database'
import { createTestHost } from 'zin/testing'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { kv, kvService } from './index.js'
import { kvContract } from './kv.contract.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

kvContract('Redis', async () => ({
  host: { plugins: [kv({ prefix: `test-${randomUUID()}` })], env: { REDIS_URL: redisUrl } },
  pass: 'wait',
}))

describe('kv of two apps on one Redis', () => {
  it('keeps their keys separate, whatever alphabet their names use', async () => {
    const run = randomUUID()
    const start = (name: string) => createTestHost({ plugins: [kv()], env: { REDIS_URL: redisUrl, APP_NAME: `${name}${run}` } })
    const [one, two] = await Promise.all([start('商店'), start('订单')])
    await one.service(kvService).set('a', '1')
    assert.equal(await two.service(kvService).get('a'), null)
    await Promise.all([one.stop(), two.stop()])
  })
})

describe('kv on MySQL or MariaDB, with a separate database', () => {
  const { env, create, drop } = mysqlDatabase('kv')
  before(create)
  after(drop)
  kvContract('MySQL or MariaDB', async () => ({ host: { plugins: [database(), kv()], env }, pass: 'clock' }))
})

describe('kv when Redis becomes unreachable', () => {
  it('fails with a typed error while the connection is down, and recovers when it is back', async () => {
    const upstream = new URL(redisUrl)
    const proxy = await openProxy({ host: upstream.hostname, port: Number(upstream.port || 6379) })
    const host = await createTestHost({
      plugins: [kv({ prefix: `test-${randomUUID()}` })],
      env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
    })
    const store = host.service(kvService)
    await store.set('a', '1')
    await proxy.cut()
    const error = await store.get('a').then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    assert.equal((error as { code?: string }).code, 'KV_UNAVAILABLE')
    assert.equal(store.isUnavailable(error), true)
    await proxy.listen()
    await once(store.redis as EventEmitter, 'ready')
    assert.equal(await store.get('a'), '1')
    await host.stop()
    await proxy.cut()
  })
})

/** A proxy to a server that a test can cut and restore. */
async function openProxy(upstream: { readonly host: string; readonly port: number }) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const target = connect(upstream)
    for (const end of [socket, target]) sockets.add(end.on('error', () => undefined))
    socket.pipe(target).pipe(socket)
  })
  const listen = async (port = 0): Promise<number> => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen()
  return {
    port,
    listen: () => listen(port),
    async cut() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      await closed
    },
  }
}
