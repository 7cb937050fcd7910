import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock } from '../util/fake-clock.js'
import { liveTimers } from './tester.js'
import { Watchdog, type Watched } from './watchdog.js'

function call(timeoutMs: number, expire: () => void = () => {}): Watched {
  return { since: undefined, timeoutMs, expire }
}

describe('the watchdog', () => {
  it('expires each call once, after its own deadline', () => {
    const clock = fakeClock()
    const watchdog = new Watchdog(clock)
    const expired: string[] = []
    watchdog.watch(call(100, () => expired.push('short')))
    watchdog.watch(call(200, () => expired.push('long')))
    watchdog.sweep()
    for (const expected of [['short'], ['short', 'long'], ['short', 'long']]) {
      clock.advance(100)
      watchdog.sweep()
      assert.deepEqual(expired, expected)
    }
  })

  it('gives a call its full time from the first sweep, even after a blocked event loop', () => {
    const clock = fakeClock()
    const watchdog = new Watchdog(clock)
    let expired = 0
    watchdog.watch(call(100, () => expired++))
    clock.advance(10_000)
    watchdog.sweep()
    assert.equal(expired, 0)
    watchdog.close()
  })

  it('does not expire calls that ended in time', () => {
    const clock = fakeClock()
    const watchdog = new Watchdog(clock)
    const ended = call(100, () => assert.fail('it ended in time'))
    watchdog.watch(ended)
    watchdog.sweep()
    watchdog.forget(ended)
    clock.advance(1000)
    watchdog.sweep()
  })

  it('runs only while calls are pending, and restarts with the next call', () => {
    const watchdog = new Watchdog(fakeClock())
    assert.equal(watchdog.running, false)
    for (let round = 0; round < 2; round++) {
      const pending = call(100)
      watchdog.watch(pending)
      watchdog.sweep()
      assert.equal(watchdog.running, true)
      watchdog.forget(pending)
      watchdog.sweep()
      assert.equal(watchdog.running, false)
    }
  })

  it('sweeps by itself', async () => {
    const watchdog = new Watchdog({ now: Date.now, monotonic: () => performance.now() }, 1)
    const keepAlive = setInterval(() => {}, 1000)
    await new Promise<void>((resolve) => watchdog.watch(call(1, resolve)))
    clearInterval(keepAlive)
    assert.equal(watchdog.running, false)
  })

  it('does not keep the process alive', () => {
    const timers = liveTimers()
    const watchdog = new Watchdog(fakeClock())
    watchdog.watch(call(100))
    assert.equal(watchdog.running, true)
    assert.equal(liveTimers(), timers)
    watchdog.close()
  })

  it('does not start again after it is closed', () => {
    const watchdog = new Watchdog(fakeClock())
    watchdog.watch(call(100))
    watchdog.close()
    watchdog.watch(call(100))
    assert.equal(watchdog.running, false)
  })
})
