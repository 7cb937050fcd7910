import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryLogger } from '../log/memory-logger.js'
import { fakeClock } from '../util/fake-clock.js'
import type { MutedListener } from './catalogue.js'
import { Delivery, MUTE_AFTER, MUTE_MS } from './delivery.js'
import { Listener } from './listener.js'
import { NotifySlot } from './notify.js'
import { never } from './tester.js'
import { Watchdog } from './watchdog.js'

/** Creates a notify slot whose watchdog is swept manually. */
function make(handler: (...args: unknown[]) => unknown, options: { sequential?: boolean } = {}) {
  const clock = fakeClock()
  const log = memoryLogger()
  const muted: MutedListener[] = []
  const watchdog = new Watchdog(clock)
  const delivery = new Delivery({ clock, log, watchdog, onMuted: (one) => void muted.push(one) })
  const listener = new Listener('first', 'onTest', { handler, timeoutMs: 100, ...options }, 0)
  listener.timeoutMs = 100
  const slot = new NotifySlot('onTest', delivery)
  slot.update([listener], [])
  const later = (ms: number): void => {
    watchdog.sweep()
    clock.advance(ms)
    watchdog.sweep()
  }
  return { slot, listener, lines: log.lines, muted, clock, watchdog, later }
}

describe('an overdue notify call', () => {
  it('is not one that settled in time', async () => {
    let fails = false
    const { slot, listener, later } = make(async () => {
      if (fails) throw new Error('boom')
    })
    slot.call('emails')
    fails = true
    slot.call('emails')
    await new Promise(setImmediate)
    later(100)
    assert.deepEqual([listener.timeouts, listener.errors, listener.pending], [0, 1, 0])
  })

  it('is counted as a timeout once and is no longer pending', async () => {
    let release = (): void => {}
    const { slot, listener, later, lines } = make(() => new Promise<void>((resolve) => (release = resolve)))
    slot.call('emails')
    later(99)
    assert.deepEqual([listener.timeouts, listener.pending], [0, 1])
    later(1)
    assert.deepEqual([listener.timeouts, listener.pending], [1, 0])
    later(1000)
    release()
    await Promise.resolve()
    assert.deepEqual([listener.timeouts, listener.pending, listener.errors], [1, 0, 0])
    assert.match(lines[0]?.err?.message ?? '', /did not finish within 100 ms/)
  })

  it('that rejects later has no effect and is not counted again', async () => {
    let fail = (_error: Error): void => {}
    const { slot, listener, later } = make(() => new Promise((_, reject) => (fail = reject)))
    slot.call('emails')
    later(100)
    fail(new Error('too late'))
    await new Promise(setImmediate)
    assert.deepEqual([listener.timeouts, listener.errors, listener.pending], [1, 0, 0])
  })

  it('counts towards muting, and a hung trial keeps the listener muted', () => {
    const { slot, listener, later, muted, clock } = make(never)
    for (let call = 0; call < MUTE_AFTER; call++) slot.call('emails')
    later(100)
    assert.deepEqual([listener.muted, muted.length], [true, 1])
    clock.advance(MUTE_MS)
    slot.call('emails')
    assert.equal(listener.calls, MUTE_AFTER + 1)
    later(100)
    slot.call('emails')
    assert.deepEqual([listener.calls, listener.muted, listener.timeouts], [MUTE_AFTER + 1, true, MUTE_AFTER + 1])
    clock.advance(MUTE_MS)
    slot.call('emails')
    assert.equal(listener.calls, MUTE_AFTER + 2)
  })

  it('does not block the queue of a sequential listener', () => {
    const seen: unknown[] = []
    const { slot, listener, later } = make(
      (worker) => {
        seen.push(worker)
        return never()
      },
      { sequential: true },
    )
    slot.call('a')
    slot.call('b')
    later(100)
    assert.deepEqual([seen, listener.pending], [['a', 'b'], 1])
  })
})
