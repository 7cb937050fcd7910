import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { database } from 'zin/plugins/database'
import { type Kv, kv, kvService } from 'zin/plugins/kv'
import { createTestHost, describePlugin, fake, fakeClock, type TestHost, type TestHostOptions } from 'zin/testing'
import fc from '../../scripts/testing/properties.js'
import { MemoryCounters } from './counters.js'
import { rateLimit } from './index.js'
import { rateLimitContract } from './rate-limit.contract.js'
import { limited, routes, statuses } from './testing/app.js'

const memoryClock = fakeClock()
rateLimitContract('memory', async () => ({ options: () => ({ clock: memoryClock }), clock: memoryClock, shared: false }))

const folders: string[] = []
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

const sqliteClock = fakeClock()
rateLimitContract('SQLite', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-rate-limit-'))
  folders.push(dataDir)
  return { options: () => ({ plugins: [database(), kv()], clock: sqliteClock, dataDir }), clock: sqliteClock, shared: true }
})

type Options = Parameters<typeof rateLimit>[0]

async function withHost(options: Options, given: TestHostOptions, use: (host: TestHost) => Promise<void>): Promise<void> {
  const host = await createTestHost({ ...given, plugins: [...(given.plugins ?? []), rateLimit(options), routes()] })
  try {
    await use(host)
  } finally {
    await host.stop()
  }
}

describe('who is counted', () => {
  const rows: readonly (readonly [
    what: string,
    options: Options,
    same: readonly [Parameters<typeof statuses>[2], Parameters<typeof statuses>[2]],
    other: Parameters<typeof statuses>[2],
  ])[] = [
    [
      'the /64 of an IPv6 address',
      { limit: 1 },
      [{ from: '2001:db8:1:2::1' }, { from: '2001:db8:1:2:ffff::9' }],
      { from: '2001:db8:1:3::1' },
    ],
    [
      'an IPv4 address, also when it is mapped to IPv6',
      { limit: 1 },
      [{ from: '192.0.2.1' }, { from: '::ffff:192.0.2.1' }],
      { from: '192.0.2.2' },
    ],
    [
      'an address, whatever X-Forwarded-For says without a trusted proxy',
      { limit: 1 },
      [
        { from: '192.0.2.1', headers: { 'x-forwarded-for': '198.51.100.1' } },
        { from: '192.0.2.1', headers: { 'x-forwarded-for': '198.51.100.2' } },
      ],
      { from: '192.0.2.2', headers: { 'x-forwarded-for': '198.51.100.1' } },
    ],
    [
      'a user, from wherever',
      { limit: 1, by: 'user' },
      [
        { path: '/mine', from: '192.0.2.1', headers: { 'x-user': 'ada' } },
        { path: '/mine', from: '192.0.2.2', headers: { 'x-user': 'ada' } },
      ],
      { path: '/mine', from: '192.0.2.1', headers: { 'x-user': 'bob' } },
    ],
    [
      'a device of a user',
      { limit: 1, by: 'device' },
      [
        { path: '/mine', headers: { 'x-user': 'ada', 'x-device': 'one' } },
        { path: '/mine', headers: { 'x-user': 'ada', 'x-device': 'one' }, from: '192.0.2.9' },
      ],
      { path: '/mine', headers: { 'x-user': 'ada', 'x-device': 'two' } },
    ],
    [
      'an API key that a guard has accepted',
      { limit: 1, by: 'key' },
      [
        { path: '/keyed', headers: { 'x-api-key': 'valid-1' } },
        { path: '/keyed', headers: { 'x-api-key': 'valid-1' }, from: '192.0.2.9' },
      ],
      { path: '/keyed', headers: { 'x-api-key': 'valid-2' } },
    ],
    [
      'the address of a caller that invents keys where no guard checks them',
      { limit: 1, by: 'key' },
      [
        { from: '192.0.2.1', headers: { 'x-api-key': 'valid-1' } },
        { from: '192.0.2.1', headers: { 'x-api-key': 'valid-2' } },
      ],
      { from: '192.0.2.2', headers: { 'x-api-key': 'valid-1' } },
    ],
    ['the address of an unknown user', { limit: 1, by: 'user' }, [{ from: '192.0.2.1' }, { from: '192.0.2.1' }], { from: '192.0.2.2' }],
    [
      'what a function returns',
      { limit: 1, by: async (ctx) => ctx.get('x-tenant') },
      [{ headers: { 'x-tenant': 'acme' } }, { headers: { 'x-tenant': 'acme' }, from: '192.0.2.9' }],
      { headers: { 'x-tenant': 'other' } },
    ],
  ]
  for (const [what, options, [first, second], other] of rows)
    it(`is ${what}`, () =>
      withHost(options, {}, async (host) => {
        assert.deepEqual(await statuses(host, 1, first), [200])
        assert.deepEqual(await statuses(host, 1, second), [429])
        assert.deepEqual(await statuses(host, 1, other), [200])
      }))

  it('is the client behind a trusted proxy, which cannot choose another address', () =>
    withHost({ limit: 1 }, { app: { trustedProxies: 1 } }, async (host) => {
      const from = (list: string) => statuses(host, 1, { from: '10.0.0.1', headers: { 'x-forwarded-for': list } })
      assert.deepEqual(await from('198.51.100.1'), [200])
      assert.deepEqual(await from('203.0.113.7, 198.51.100.1'), [429])
      assert.deepEqual(await from('198.51.100.2'), [200])
    }))

  it('is nobody where the function returns undefined', () =>
    withHost({ limit: 1, by: () => undefined }, {}, async (host) => {
      const { headers, status } = await host.inject({ path: '/open' })
      assert.deepEqual([status, headers.ratelimit], [200, undefined])
      assert.deepEqual(await statuses(host, 3), [200, 200, 200])
    }))
})

describe('when a request is counted', () => {
  it('counts before authentication, so that guesses use up the limit', () =>
    withHost({ limit: 2 }, {}, async (host) => {
      assert.deepEqual(await statuses(host, 3, { path: '/mine' }), [401, 401, 429])
    }))

  it('counts after authentication if chosen, so that only accepted requests use it up', () =>
    withHost({ limit: 2, counted: 'after' }, {}, async (host) => {
      assert.deepEqual(await statuses(host, 3, { path: '/mine' }), [401, 401, 401])
      assert.deepEqual(await statuses(host, 3, { path: '/mine', headers: { 'x-user': 'ada' } }), [200, 200, 429])
    }))

  it('counts unknown paths and bad requests, but no probes and no preflights of browsers', () =>
    withHost({ limit: 4 }, {}, async (host) => {
      assert.deepEqual(await statuses(host, 3, { path: '/live' }), [200, 200, 200])
      const preflight = { method: 'OPTIONS', headers: { origin: 'http://a.example', 'access-control-request-method': 'PUT' } }
      assert.deepEqual(await statuses(host, 3, preflight), [204, 204, 204])
      assert.deepEqual(await statuses(host, 2, { path: '/nowhere' }), [404, 404])
      assert.deepEqual(await statuses(host, 1, { method: 'OPTIONS' }), [204])
      assert.deepEqual(await statuses(host, 2, { method: 'HEAD' }), [200, 429])
      assert.deepEqual(await statuses(host, 1, { path: '/live' }), [200])
    }))

  it('counts a route with a limit of its own where its key stands in `use`, beside the limit of the app', async () => {
    const plugins = [
      limited({ '/before': ['rateLimit:own', 'known'], '/after': ['known', 'rateLimit:own'], '/two': ['rateLimit:own', 'rateLimit:day'] }),
    ]
    const limits = { own: { limit: 2 }, day: { limit: 9, windowMs: 86_400_000 } }
    await withHost({ limit: 100, limits }, { plugins }, async (host) => {
      assert.deepEqual(await statuses(host, 3, { path: '/before' }), [401, 401, 429])
      assert.deepEqual(await statuses(host, 3, { path: '/after', from: '192.0.2.2' }), [401, 401, 401])
      assert.deepEqual(await statuses(host, 1, { path: '/open' }), [200], 'other routes go on')
      const { headers } = await host.inject({ path: '/two', remoteAddress: '192.0.2.3' })
      assert.equal(headers['ratelimit-policy'], '"default";q=100;w=60, "own";q=2;w=60, "day";q=9;w=86400')
      assert.equal(headers.ratelimit, '"default";r=99;t=60, "own";r=1;t=60, "day";r=8;t=86400')
    })
  })

  it('keeps the headers of errors, and refuses before the body is read', () =>
    withHost({ limit: 1 }, { listen: true }, async (host) => {
      const { headers } = await host.inject({ path: '/nowhere' })
      assert.equal(headers.ratelimit, '"default";r=0;t=60')
      const { port } = new URL(host.url)
      const socket = connect(Number(port), '127.0.0.1')
      // The body never comes.
      socket.write(`POST /open HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n`)
      const [bytes] = (await once(socket, 'data', { signal: AbortSignal.timeout(20_000) })) as [Buffer]
      socket.destroy()
      assert.match(String(bytes), /^HTTP\/1\.1 429 Too Many Requests/)
    }))
})

describe('a store that fails', () => {
  const outage = (tally: Kv['tally']): TestHostOptions => ({ services: [fake(kvService, { driver: 'redis', tally })] })
  const broken: Kv['tally'] = () => Promise.reject(new Error('connection refused'))
  const silent: Kv['tally'] = () => new Promise(() => {})

  for (const [name, tally] of [
    ['is down', broken],
    ['never responds', silent],
  ] as const) {
    it(`that ${name} leaves each process its own limit, and is logged once`, () =>
      withHost({ limit: 3, storeTimeoutMs: 20 }, outage(tally), async (host) => {
        assert.deepEqual(await statuses(host, 5), [200, 200, 200, 429, 429])
        assert.equal(host.logs.filter(({ msg }) => /cannot be counted in the store; meanwhile each process/.test(String(msg))).length, 1)
      }))

    it(`that ${name} refuses requests if chosen`, () =>
      withHost({ limit: 3, storeTimeoutMs: 20, whenStoreFails: 'refuse' }, outage(tally), async (host) => {
        const { status, body, headers } = await host.inject({ path: '/open' })
        assert.deepEqual([status, body.code, headers['retry-after']], [503, 'RATE_LIMIT_STORE_UNAVAILABLE', '1'])
        assert.deepEqual(await statuses(host, 1, { path: '/live' }), [200])
      }))
  }

  it('is asked once a second while it fails, and counts again when it is back', async () => {
    const clock = fakeClock()
    let calls = 0
    let works = false
    const tally: Kv['tally'] = async () => {
      calls += 1
      if (!works) throw new Error('connection refused')
      return { sum: 1, leftMs: 60_000 }
    }
    await withHost({ limit: 100 }, { ...outage(tally), clock }, async (host) => {
      await statuses(host, 5)
      assert.equal(calls, 1)
      clock.advance(1_000)
      await statuses(host, 5)
      assert.equal(calls, 2)
      works = true
      clock.advance(1_000)
      await statuses(host, 2)
      assert.equal(calls, 4)
      assert.match(host.logText(), /requests are counted in the store again/)
    })
  })

  it('gets requests of one caller that come at once in fewer calls, and counts each of them', async () => {
    const asked: number[] = []
    let sum = 0
    const tally: Kv['tally'] = async (_key, { by = 1 } = {}) => {
      asked.push(by)
      sum += by
      const now = sum
      await turn()
      return { sum: now, leftMs: 60_000 }
    }
    await withHost({ limit: 5 }, outage(tally), async (host) => {
      const responses = await Promise.all(Array.from({ length: 8 }, () => host.inject({ path: '/open' })))
      assert.equal(responses.filter(({ status }) => status === 200).length, 5)
      assert.equal(sum, 8)
      assert.ok(asked.length < 8, asked.join())
    })
  })

  it('is not asked again for a caller that it has refused, until the window ends', async () => {
    const clock = fakeClock()
    let calls = 0
    const tally: Kv['tally'] = async () => ({ sum: ++calls, leftMs: 5_000 })
    await withHost({ limit: 1 }, { ...outage(tally), clock }, async (host) => {
      assert.deepEqual(await statuses(host, 4), [200, 429, 429, 429])
      assert.equal(calls, 2)
      clock.advance(5_000)
      await statuses(host, 1)
      assert.equal(calls, 3)
    })
  })
})

describe('options', () => {
  const rows: readonly (readonly [options: object, problem: RegExp])[] = [
    [{}, /there is no limit; set one, such as rateLimit\(/],
    [{ limit: 0 }, /limit/],
    [{ limit: 1_000_000_001 }, /limit/],
    [{ limit: 1.5 }, /limit/],
    [{ limit: 1, windowMs: 99 }, /windowMs/],
    [{ limit: 1, windowMs: 31 * 86_400_000 + 1 }, /windowMs/],
    [{ limit: 1, by: 'ip' }, /by/],
    [{ limit: 1, by: 'user', counted: 'before' }, /by user, who is unknown before authentication; use counted: 'after'/],
    [{ limit: 1, store: 'kv' }, /needs the plugin kv; add kv\(\)/],
    [{ limits: { default: { limit: 1 } } }, /cannot have the name "default"/],
    [{ limits: { 'a b': { limit: 1 } } }, /limits/],
    [{ limits: { own: { limit: 1, counted: 'after' } } }, /limits\.own\.counted.*needs "everywhere: true"/],
    [{ limits: { own: { limit: 1, max: 2 } } }, /limits\.own/],
    [{ limit: 1, storeTimeoutMs: 9 }, /storeTimeoutMs/],
    [{ max: 5 }, /unknown option "max"/],
  ]
  for (const [options, problem] of rows)
    it(`refuses ${JSON.stringify(options)} at boot`, () =>
      assert.rejects(createTestHost({ plugins: [rateLimit(options as Options)] }), { message: problem }))

  for (const options of [
    { limit: 1, windowMs: 100 },
    { limit: 1_000_000_000, windowMs: 31 * 86_400_000 },
  ] as const)
    it(`accepts ${JSON.stringify(options)}`, () => withHost(options, {}, async (host) => void (await statuses(host, 1))))
})

describe('memory', () => {
  it('keeps a bounded number of callers, and forgets the least recently seen first', async () => {
    const counters = new MemoryCounters(fakeClock(), 3)
    for (const key of ['a', 'b', 'c', 'a', 'd']) await counters.add(key, 1, 1_000)
    assert.equal(counters.size, 3)
    assert.equal((await counters.add('a', 1, 1_000)).sum, 3)
    assert.equal((await counters.add('b', 1, 1_000)).sum, 1)
  })

  it('forgets windows that have ended', async () => {
    const clock = fakeClock()
    const counters = new MemoryCounters(clock)
    await counters.add('a', 1, 1_000)
    await counters.add('b', 1, 2_000)
    clock.advance(1_000)
    counters.sweep()
    assert.equal(counters.size, 1)
  })

  it('never counts more than it was asked to, nor less within a window', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(2), fc.nat(400)), { maxLength: 60 }), async (events) => {
        const clock = fakeClock()
        const counters = new MemoryCounters(clock)
        const model = new Map<number, { end: number; sum: number }>()
        for (const [key, pause] of events) {
          clock.advance(pause)
          const now = clock.monotonic()
          const known = model.get(key)
          const window = known && known.end > now ? known : { end: now + 1_000, sum: 0 }
          window.sum += 1
          model.set(key, window)
          assert.deepEqual(await counters.add(String(key), 1, 1_000), { sum: window.sum, leftMs: window.end - now })
        }
      }),
    ))
})

describePlugin(() => [], rateLimit, { readme: new URL('./README.md', import.meta.url), options: { limit: 100 } })
