import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost, type TestHost } from 'zin/testing'
import { type RedisServer, redisServer } from '../../scripts/testing/redis-server.js'
import { queues, queuesService } from './index.js'

describe('a Redis that hangs', () => {
  let server: RedisServer
  let host: TestHost
  before(async () => {
    server = await redisServer()
    host = await createTestHost({ plugins: [kv(), queues()], env: { REDIS_URL: server.url } })
  })
  after(async () => {
    server.resume()
    await host.stop()
    await server.stop()
  })

  it('fails every call of kv and queues with a 503, and recovers when Redis does', async () => {
    const keys = host.service(kvService)
    const jobs = host.service(queuesService)
    await jobs.add('known', 'job', {})
    await keys.set('known', '1')
    server.hang()
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      get: () => keys.get('a'),
      getMany: () => keys.getMany(['a', 'b']),
      set: () => keys.set('a', 'b', { ttlMs: 1000 }),
      setIfAbsent: () => keys.set('a', 'b', { ifAbsent: true }),
      setIfValue: () => keys.set('a', 'b', { ifValue: 'c' }),
      delete: () => keys.delete('a'),
      increment: () => keys.increment('n'),
      pingKeys: () => keys.ping(),
      add: () => jobs.add('known', 'job', {}),
      addToNew: () => jobs.add('unknown', 'job', {}),
      addFlow: () => jobs.addFlow({ name: 'tree', queueName: 'known', children: [{ name: 'leaf', queueName: 'known' }] }),
      schedule: () => jobs.schedule('known', 'daily', { every: 60_000 }, { name: 'job' }),
      fail: () => jobs.fail('known', '1', 'no'),
      counts: () => jobs.counts('known'),
      list: () => jobs.list('known', 'waiting', { offset: 0, limit: 5 }),
      oldestWaiting: () => jobs.oldestWaiting('known'),
      names: () => jobs.names(),
      ping: () => jobs.ping(),
    }
    const outcomes = await Promise.all(
      Object.entries(calls).map(([name, call]) =>
        call().then(
          () => [name, 'answered'],
          (error: { readonly status?: number }) => [name, error.status],
        ),
      ),
    )
    assert.deepEqual(
      outcomes.filter(([, status]) => status !== 503),
      [],
    )
    server.resume()
    // What hung may have been stored; the connection is made anew.
    const recovered = async (call: () => Promise<unknown>): Promise<unknown> => {
      for (;;) {
        try {
          return await call()
        } catch (error) {
          if ((error as { readonly status?: number }).status !== 503) throw error
          // A call on a lost connection fails at once, and the next connection needs turns of the event loop.
          await turn()
        }
      }
    }
    assert.equal(await recovered(() => keys.get('known')), '1')
    assert.ok(await recovered(() => jobs.add('known', 'job', {})))
  })
})
