import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { RedisFamily } from './family.js'

/** Port 1 refuses connections. The next attempt is later than the end of any test. */
const refused = { host: '127.0.0.1', port: 1, lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: () => 3_600_000 }

/** A client between two connection attempts. */
async function reconnecting(client: Redis): Promise<Redis> {
  client.on('error', () => undefined)
  const waiting = new Promise((resolve) => client.once('reconnecting', resolve))
  client.connect().catch(() => undefined)
  await waiting
  return client
}

describe('a family of Redis clients', () => {
  it('ends a client between two connection attempts, and rejects its pending commands', async () => {
    const client = await reconnecting(new RedisFamily().adopt(new Redis(refused)))
    const pending = client.get('a')
    const ended = once(client, 'end')
    client.disconnect()
    await ended
    await assert.rejects(pending, /Connection is closed/)
  })

  it('reconnects a client that was disconnected', async () => {
    const client = await reconnecting(new RedisFamily().adopt(new Redis(refused)))
    client.disconnect()
    await reconnecting(client)
    client.disconnect()
  })

  it('closes duplicates of duplicates permanently', async () => {
    const family = new RedisFamily()
    const client = family.adopt(new Redis(refused))
    const clients = await Promise.all([client, client.duplicate(), client.duplicate().duplicate()].map(reconnecting))
    const ended = clients.map((one) => once(one, 'end'))
    family.close()
    await Promise.all(ended)
    for (const one of clients) await assert.rejects(one.connect(), /Connection is closed/)
    const late = client.duplicate()
    await assert.rejects(late.connect(), /Connection is closed/)
  })

  it('tries again when a server accepts a connection and never answers', async (t) => {
    const server = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const family = new RedisFamily({ handshakeMs: 50 })
    t.after(() => {
      family.close()
      server.close()
    })
    const client = family.adopt(
      new Redis({ port, lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: () => 1, disconnectTimeout: 10 }),
    )
    client.on('error', () => undefined)
    const twice = new Promise<void>((resolve) => {
      let connections = 0
      server.on('connection', () => ++connections === 3 && resolve())
    })
    client.connect().catch(() => undefined)
    await twice
  })

  it('replaces the other connections once one has died silently, if they share that', () => {
    for (const sharesSilence of [true, false]) {
      const family = new RedisFamily({ sharesSilence })
      const replaced: string[] = []
      const client = (name: string, status: Redis['status']): Redis => {
        const one = new Redis(refused)
        one.on('error', () => undefined)
        one.disconnect = (reconnect) => void replaced.push(`${name} ${reconnect}`)
        one.status = status
        return family.adopt(one)
      }
      const silent = client('silent', 'ready')
      client('blocked', 'ready')
      client('connecting', 'connecting')
      silent.emit('error', new Error('read ECONNRESET'))
      assert.deepEqual(replaced, [])
      silent.emit('error', new Error("Socket timeout. Expecting data, but didn't receive any in 20000ms."))
      assert.deepEqual(replaced, sharesSilence ? ['blocked true'] : [])
    }
  })
})
