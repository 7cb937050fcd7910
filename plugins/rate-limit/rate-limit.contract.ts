import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestHost, type FakeClock, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { rateLimit } from './index.js'
import { routes, statuses } from './testing/app.js'

export interface RateLimitStore {
  /** One host of an app; each call returns another one with the same store. */
  readonly options: () => TestHostOptions
  /** Advances the time of the store; without it, time passes by itself. */
  readonly clock?: FakeClock
  /** Whether several hosts count together. */
  readonly shared: boolean
}

/** The behaviour of every store, seen through requests. */
export function rateLimitContract(name: string, open: () => Promise<RateLimitStore>): void {
  describe(`rateLimit on ${name}`, () => {
    let store: RateLimitStore
    const hosts: TestHost[] = []
    const boot = async (options: Parameters<typeof rateLimit>[0]): Promise<TestHost> => {
      const given = store.options()
      const host = await createTestHost({ ...given, plugins: [...(given.plugins ?? []), rateLimit(options), routes()] })
      hosts.push(host)
      return host
    }
    before(async () => {
      store = await open()
    })
    after(async () => {
      for (const host of hosts) await host.stop()
    })

    it('lets `limit` requests of an address pass, and refuses the next one with 429, its code and the standard headers', async () => {
      const host = await boot({ limit: 3, windowMs: 60_000 })
      const from = '192.0.2.1'
      for (const left of [2, 1, 0]) {
        const { status, headers } = await host.inject({ path: '/open', remoteAddress: from })
        assert.equal(status, 200)
        assert.equal(headers['ratelimit-policy'], '"default";q=3;w=60')
        assert.match(String(headers.ratelimit), new RegExp(`^"default";r=${left};t=(59|60)$`))
      }
      const refused = await host.inject({ path: '/open', remoteAddress: from })
      assert.equal(refused.status, 429)
      assert.deepEqual(
        [refused.body.code, refused.body.error, refused.body.details],
        ['RATE_LIMITED', 'Too many requests', { policy: 'default' }],
      )
      assert.match(String(refused.headers['retry-after']), /^(59|60)$/)
      assert.equal(refused.headers['ratelimit-policy'], '"default";q=3;w=60')
      assert.match(String(refused.headers.ratelimit), /^"default";r=0;t=(59|60)$/)
      assert.equal(refused.headers['cache-control'], 'no-store')
      assert.deepEqual(await statuses(host, 1, { from: '192.0.2.2' }), [200], 'another address has a limit of its own')
    })

    it('starts a new window when the first has ended, also for a caller that never paused', async () => {
      const windowMs = store.clock === undefined ? 700 : 60_000
      const host = await boot({ limits: { short: { limit: 2, windowMs, everywhere: true } } })
      const sent = { from: '192.0.2.10' }
      assert.deepEqual(await statuses(host, 3, sent), [200, 200, 429])
      if (store.clock === undefined) await eventually('a new window', async () => (await statuses(host, 1, sent))[0] === 200)
      else {
        store.clock.advance(windowMs - 1)
        assert.deepEqual(await statuses(host, 1, sent), [429])
        store.clock.advance(1)
        assert.deepEqual(await statuses(host, 1, sent), [200])
      }
      assert.deepEqual(await statuses(host, 2, sent), [200, 429])
    })

    it('lets exactly `limit` of many concurrent requests pass, on all hosts that share the store', async () => {
      // A busy machine is no outage.
      const options = { storeTimeoutMs: 10_000, limits: { burst: { limit: 20, windowMs: 60_000, everywhere: true } } }
      const apps = [await boot(options), ...(store.shared ? [await boot(options)] : [])]
      const responses = await Promise.all(
        Array.from({ length: 60 }, (_, i) => (apps[i % apps.length] as TestHost).inject({ path: '/open', remoteAddress: '192.0.2.20' })),
      )
      const passed = responses.filter(({ status }) => status === 200)
      assert.equal(passed.length, 20)
      assert.equal(responses.filter(({ status }) => status === 429).length, 40)
      const left = passed.map(({ headers }) => Number(/;r=(\d+)/.exec(String(headers.ratelimit))?.[1])).sort((a, b) => a - b)
      assert.deepEqual(
        left,
        Array.from({ length: 20 }, (_, i) => i),
      )
    })
  })
}
