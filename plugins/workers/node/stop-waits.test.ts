import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { signal } from '../testing/signal.js'
import { StopWaits } from './stop-waits.js'

describe('the waits of a stop', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
  afterEach(() => mock.timers.reset())
  const never = new Promise(() => undefined)
  /** The result of a wait so far. */
  const stateOf = (wait: Promise<boolean>) =>
    Promise.race([
      wait,
      Promise.resolve()
        .then(() => new Promise(setImmediate))
        .then(() => 'waits'),
    ])

  it('end when the work ends', async () => {
    const { promise, fire } = signal()
    const wait = new StopWaits({ drainMs: 100, cancelMs: 10 }).drained(promise)
    fire()
    assert.equal(await wait, true)
  })

  it('end immediately for work that fails', async () => {
    assert.equal(await new StopWaits({ drainMs: 100, cancelMs: 10 }).cancelled(Promise.reject(new Error('down'))), false)
  })

  it('end at their own deadlines', async () => {
    const waits = new StopWaits({ drainMs: 100, cancelMs: 10 })
    for (const [wait, ms] of [
      [waits.drained(never), 100],
      [waits.cancelled(never), 10],
    ] as const) {
      mock.timers.tick(ms)
      assert.equal(await wait, false)
    }
  })

  it('can be shortened while in progress', async () => {
    const waits = new StopWaits({ drainMs: 60_000, cancelMs: 5_000 })
    const drain = waits.drained(never)
    mock.timers.tick(1_000)
    waits.shorten({ drainMs: 100, cancelMs: 10 })
    mock.timers.tick(99)
    assert.equal(await stateOf(drain), 'waits')
    mock.timers.tick(1)
    assert.equal(await drain, false)
    const cancel = waits.cancelled(never)
    mock.timers.tick(10)
    assert.equal(await cancel, false)
  })

  it('are never lengthened', async () => {
    const waits = new StopWaits({ drainMs: 100, cancelMs: 10 })
    const drain = waits.drained(never)
    mock.timers.tick(99)
    waits.shorten({ drainMs: 60_000, cancelMs: 5_000 })
    mock.timers.tick(1)
    assert.equal(await drain, false)
  })
})
