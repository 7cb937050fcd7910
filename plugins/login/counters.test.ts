import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { database } from 'zin/plugins/database'
import { type Kv, kv, kvService } from 'zin/plugins/kv'
import { createTestHost, type FakeClock, fakeClock } from 'zin/testing'
import { type Counters, kvCounters, memoryCounters } from './counters.js'
import { createThrottle } from './throttle.js'

const minute = 60_000

const kinds: readonly [string, (test: (counters: Counters, clock: FakeClock) => Promise<void>) => Promise<void>][] = [
  [
    'in the process',
    async (test) => {
      const clock = fakeClock()
      await test(memoryCounters(clock), clock)
    },
  ],
  [
    'in the kv',
    async (test) => {
      const clock = fakeClock()
      const host = await createTestHost({ plugins: [database(), kv()], clock })
      try {
        await test(
          kvCounters(() => host.service(kvService), clock),
          clock,
        )
      } finally {
        await host.stop()
      }
    },
  ],
]

for (const [where, withCounters] of kinds) {
  describe(`counters ${where}`, () => {
    it('count each key in a window that starts with its first event', () =>
      withCounters(async (counters, clock) => {
        assert.deepEqual([await counters.add('a', minute), await counters.add('a', minute), await counters.add('b', minute)], [1, 2, 1])
        clock.advance(minute - 1)
        assert.deepEqual([await counters.add('a', minute), await counters.remaining('a', minute)], [3, 1])
        clock.advance(1)
        assert.deepEqual([await counters.add('a', minute), await counters.remaining('a', minute)], [1, minute])
      }))

    it('return a different count for each of many parallel events', () =>
      withCounters(async (counters) => {
        const counts = await Promise.all(Array.from({ length: 20 }, () => counters.add('a', minute)))
        assert.deepEqual(
          [...counts].sort((a, b) => a - b),
          Array.from({ length: 20 }, (_, index) => index + 1),
        )
      }))

    it('restart the window of a key that is marked again', () =>
      withCounters(async (counters, clock) => {
        await counters.mark('a', minute)
        clock.advance(minute - 1)
        await counters.mark('a', minute)
        clock.advance(minute - 1)
        assert.deepEqual(await counters.sums(['a', 'b']), new Map([['a', 1]]))
        clock.advance(1)
        assert.deepEqual(await counters.sums(['a', 'b']), new Map())
      }))

    it('reset only the cleared keys', () =>
      withCounters(async (counters) => {
        for (const key of ['a', 'b']) await counters.add(key, minute)
        await counters.clear(['a'])
        assert.deepEqual([await counters.add('a', minute), await counters.add('b', minute)], [1, 2])
      }))
  })
}

describe('counters whose kv fails', () => {
  it('respond 503, so that no password attempt goes uncounted', async () => {
    const broken: Partial<Kv> = { increment: () => Promise.reject(new Error('connection refused')) }
    for (const kvNow of [broken as Kv, undefined]) {
      await assert.rejects(kvCounters(() => kvNow, fakeClock()).add('a', minute), { code: 'AUTH_STORE_UNAVAILABLE', status: 503 })
    }
  })
})

describe('counters in the process', () => {
  it('keep a bounded number of keys, and delete expired ones', async () => {
    const clock = fakeClock()
    const counters = memoryCounters(clock)
    await counters.add('first', minute)
    await counters.add('second', minute)
    for (let index = 0; index < 49_999; index += 1) await counters.add(`key ${index}`, minute)
    assert.deepEqual([await counters.add('first', minute), await counters.add('key 49998', minute)], [1, 2])
    clock.advance(minute)
    counters.sweep()
    assert.equal(await counters.add('key 49998', minute), 1)
  })
})

describe('the throttle', () => {
  const limits = {
    attemptsPerMinute: 2,
    attemptsPerHour: 3,
    addressAttemptsPerMinute: 100,
    addressAttemptsPerHour: 100,
    accountAttemptsPerMinute: 100,
  }

  it('reports the time of the next attempt, from the longest full window', async () => {
    const clock = fakeClock()
    const throttle = createThrottle(memoryCounters(clock), limits)
    const attempt = () =>
      throttle.attempt('a@b.c', { address: '10.0.0.1' }).then(
        () => 'passed',
        (error: { headers: Record<string, string> }) => error.headers['Retry-After'],
      )
    assert.deepEqual([await attempt(), await attempt(), await attempt()], ['passed', 'passed', '60'])
    clock.advance(minute)
    assert.deepEqual([await attempt(), await attempt()], ['passed', String(59 * 60)])
    clock.advance(59 * minute)
    assert.equal(await attempt(), 'passed')
  })

  it('blocks a user for at most a minute after 200 wrong attempts from as many addresses', async () => {
    const clock = fakeClock()
    const throttle = createThrottle(memoryCounters(clock), { ...limits, accountAttemptsPerMinute: 10 })
    const attempt = (address: string) =>
      throttle.attempt('a@b.c', { address }).then(
        () => 'passed',
        (error: { headers: Record<string, string> }) => error.headers['Retry-After'],
      )
    for (let index = 0; index < 200; index += 1) await attempt(`10.0.0.${index}`)
    assert.equal(await attempt('192.0.2.1'), '60')
    clock.advance(minute)
    assert.equal(await attempt('192.0.2.1'), 'passed')
  })

  it('does not block frequent successful logins from a known address', async () => {
    const throttle = createThrottle(memoryCounters(fakeClock()), { ...limits, accountAttemptsPerMinute: 2 })
    const origin = { address: '192.0.2.1' }
    for (let index = 0; index < 10; index += 1) {
      await throttle.attempt('a@b.c', origin)
      await throttle.succeeded('a@b.c', origin)
    }
    await throttle.attempt('a@b.c', origin)
    await throttle.attempt('a@b.c', origin)
    await assert.rejects(throttle.attempt('a@b.c', origin), { code: 'RATE_LIMITED' })
  })

  it('treats an address as known for 30 days after its latest login', async () => {
    const day = 24 * 60 * minute
    const clock = fakeClock()
    const throttle = createThrottle(memoryCounters(clock), { ...limits, accountAttemptsPerMinute: 1 })
    const origin = { address: '192.0.2.1' }
    const passes = () =>
      throttle.attempt('a@b.c', origin).then(
        () => true,
        () => false,
      )
    const passesDuringAttack = async (): Promise<boolean> => {
      await throttle.attempt('a@b.c', { address: '10.0.0.1' })
      return passes()
    }
    await throttle.succeeded('a@b.c', origin)
    clock.advance(29 * day)
    await throttle.succeeded('a@b.c', origin)
    clock.advance(29 * day)
    assert.equal(await passesDuringAttack(), true)
    clock.advance(day)
    assert.equal(await passesDuringAttack(), false)
  })

  it('treats an IPv6 /64 as one address, a mapped IPv4 address as that IPv4 address, and all malformed ones as one', async () => {
    const throttle = createThrottle(memoryCounters(fakeClock()), { ...limits, attemptsPerMinute: 1 })
    const passes = (address: string) =>
      throttle.attempt('a@b.c', { address }).then(
        () => true,
        () => false,
      )
    assert.deepEqual(
      [await passes('2001:db8:1:2::1'), await passes('2001:db8:1:2:ffff::9'), await passes('2001:db8:1:3::1')],
      [true, false, true],
    )
    assert.deepEqual([await passes('10.0.0.1'), await passes('::ffff:10.0.0.1'), await passes('10.0.0.2')], [true, false, true])
    assert.deepEqual([await passes(''), await passes('nonsense')], [true, false])
  })

  it('ignores the port and brackets of an address', async () => {
    const throttle = createThrottle(memoryCounters(fakeClock()), { ...limits, attemptsPerMinute: 1 })
    const passes = (address: string) =>
      throttle.attempt('a@b.c', { address }).then(
        () => true,
        () => false,
      )
    const rows: readonly (readonly [address: string, passes: boolean])[] = [
      ['10.0.0.1:5000', true],
      ['10.0.0.1:6000', false],
      ['10.0.0.1', false],
      ['[::ffff:10.0.0.1]:7000', false],
      ['10.0.0.2:5000', true],
      ['[2001:db8:1:2::1]:5000', true],
      ['[2001:db8:1:2::2]', false],
      ['2001:db8:1:2::3', false],
      ['[2001:db8:1:3::1]:5000', true],
      ['10.0.0.3:x', true],
      ['[nonsense]:1', false],
      ['10.0.0:1', false],
      ['[10.0.0.4', false],
    ]
    for (const [address, expected] of rows) assert.equal(await passes(address), expected, address)
  })
})

describe('counters in the process', () => {
  it('keep the end of their window when the clock goes back by an hour', async () => {
    const clock = fakeClock()
    const counters = memoryCounters(clock)
    await counters.add('a', minute)
    clock.set(clock.now() - 60 * minute)
    assert.equal(await counters.remaining('a', minute), minute)
    clock.advance(minute)
    assert.equal(await counters.add('a', minute), 1)
  })
})
