import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { devicesService } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { fakeClock } from 'zin/testing'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { countsOf, type TestApp, withApp } from './testing/app.js'
import { inFolder, sendCopies, signedNow, startServer } from './testing/processes.js'
import { assertNeverTwice, bootAt } from './testing/replay.js'

const env = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set' }

function redisOf(app: Pick<TestApp, 'service'>) {
  const client = app.service(kvService).redis
  assert.ok(client !== undefined)
  return client
}

describe('S7: when Redis is flushed', () => {
  for (const [name, more] of [
    ['beside a database', () => [database()]],
    ['alone', () => []],
  ] as const) {
    it(`a request is accepted once, dated now or up to 59 s ahead, with Redis ${name}`, () =>
      inFolder(async (rootDir) => {
        const clock = fakeClock()
        const plugins = () => [...more(), kv({ prefix: `test-${randomUUID()}` })]
        const host = await bootAt(rootDir, clock, { plugins, env })
        clock.advance(1_000)
        try {
          await assertNeverTwice(clock, host, async () => {
            await redisOf(host).flushdb()
            return host
          })
        } finally {
          await host.stop()
        }
      }))
  }

  it('and the app restarts, a request is still accepted only once', () =>
    inFolder(async (rootDir) => {
      const clock = fakeClock()
      const backend = { plugins: () => [database(), kv({ prefix: 'test-restart' })], env }
      let host = await bootAt(rootDir, clock, backend)
      clock.advance(1_000)
      try {
        await assertNeverTwice(clock, host, async () => {
          await redisOf(host).flushdb()
          await host.stop()
          host = await bootAt(rootDir, clock, backend)
          return host
        })
      } finally {
        await host.stop()
      }
    }))
})

describe('two processes on one Redis', () => {
  it('accept one of 200 concurrent copies of a request', () =>
    inFolder(async (rootDir) => {
      const given = { rootDir, plugins: ['kv'], prefix: `test-${randomUUID()}`, env } as const
      const servers = await Promise.all([startServer(given), startServer({ ...given, rootDir: `${rootDir}/two` })])
      try {
        const urls = servers.map(({ url }) => url)
        for (const ahead of [0, 2_000]) assert.deepEqual(await sendCopies(urls, await signedNow(ahead), 200), { 200: 1, 401: 199 })
      } finally {
        await Promise.all(servers.map((server) => server.kill()))
      }
    }))
})

describe('a request with devices in the database and the rest on Redis', () => {
  const given = () => ({ plugins: [database(), kv({ prefix: `test-${randomUUID()}` })], env })

  it('costs two round trips to Redis and no database statement, once its device is cached', async (t) => {
    // Its statistics count the commands of all clients.
    const server = await redisServer()
    t.after(() => server.stop())
    await withApp({ ...given(), env: { REDIS_URL: server.url } }, async (app) => {
      // In the first minute, nonces are also looked up in the ledger.
      app.clock.advance(61_000)
      assert.equal((await app.send()).status, 200)
      const client = redisOf(app)
      await client.config('RESETSTAT')
      assert.equal((await app.send()).status, 200)
      const stats = await client.info('commandstats')
      const calls = [...stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)].filter(([, command]) => !/^(config|info)/.test(command ?? ''))
      assert.deepEqual(Object.fromEntries(calls.map(([, command, count]) => [command, count])), { mget: '1', set: '1' })
      // Without the database every statement fails, and a request that needs one gets a 503.
      await app.host.disable('database')
      assert.equal((await app.send()).status, 200)
      app.clock.advance(60_001)
      assert.equal((await app.send()).status, 503)
    })
  })

  it('is refused in another process after the device was removed and Redis was then flushed', () =>
    inFolder((rootDir) => {
      const { plugins } = given()
      return withApp({ plugins, env, dataDir: rootDir }, (one) =>
        withApp({ plugins, env, dataDir: rootDir }, async (two) => {
          const ask = async (): Promise<number> => {
            const headers = await one.headersOf({ token: await one.tokenWith({}) })
            two.clock.set(one.clock.now())
            return (await two.host.inject({ path: '/api/me', headers })).status
          }
          assert.equal(await ask(), 200)
          await redisOf(one).flushdb()
          one.clock.advance(5_000)
          assert.equal(await ask(), 401)
          one.clock.advance(5_000)
          assert.equal(await ask(), 200)
          await one.service(devicesService).remove(one.deviceId)
          await redisOf(one).flushdb()
          for (let second = 0; second < 5; second += 1) {
            one.clock.advance(1_000)
            assert.equal(await ask(), 401)
          }
        }),
      )
    }))

  it('S19: is refused in another process immediately after the device was removed, or got a new secret, in this one', () =>
    inFolder((rootDir) => {
      const { plugins } = given()
      return withApp({ plugins, env, dataDir: rootDir }, (one) =>
        withApp({ plugins, env, dataDir: rootDir }, async (two) => {
          const ask = async (secret?: string): Promise<number> => {
            two.clock.set(one.clock.now())
            const headers = await one.headersOf(secret === undefined ? {} : { secret })
            return (await two.host.inject({ path: '/api/me', headers })).status
          }
          const devices = one.service(devicesService)
          assert.deepEqual([await ask(), await ask()], [200, 200])
          const { secret } = await devices.enroll({ userId: '7', deviceId: one.deviceId })
          assert.deepEqual([await ask(), await ask(secret)], [401, 200])
          await devices.remove(one.deviceId)
          assert.equal(await ask(secret), 401)
        }),
      )
    }))
})

describe('on Redis', () => {
  it('S6: one of 200 concurrent copies of a request is accepted', () =>
    withApp({ plugins: [database(), kv({ prefix: `test-${randomUUID()}` })], env }, async (app) => {
      const headers = await app.headersOf()
      const responses = await Promise.all(Array.from({ length: 200 }, () => app.host.inject({ path: '/api/me', headers })))
      assert.deepEqual(countsOf(responses), { 200: 1, 401: 199 })
    }))
})
