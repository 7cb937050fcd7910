import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { fakeClock } from 'zin/testing'
import { TimeLimits } from './time-limit.js'

describe('work with a time limit', () => {
  let clock = fakeClock()
  let limits = new TimeLimits(clock)
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] })
    clock = fakeClock()
    limits = new TimeLimits(clock)
  })
  afterEach(() => mock.timers.reset())

  const pass = (ms: number): void => {
    clock.advance(ms)
    mock.timers.tick(ms)
  }

  /** Starts work that calls `onLate` at its timeout. */
  const start = (onLate: (resolve: (value: unknown) => void, reject: (error: Error) => void) => void, stands = false) => {
    let timedOut: () => void = () => undefined
    const work = () =>
      new Promise((resolve, reject) => {
        timedOut = () => onLate(resolve, reject)
      })
    const late = () => {
      timedOut()
      return new Error('late')
    }
    return limits.run(work, { ms: 100, late, stands: () => stands })
  }

  it('has its own outcome when it ends in time', async () => {
    const limit = { ms: 100, late: () => assert.fail('it was in time'), stands: () => false }
    assert.equal(await limits.run(() => 7, limit), 7)
    await assert.rejects(
      limits.run(() => {
        throw new Error('own')
      }, limit),
      /own/,
    )
    pass(10_000)
  })

  it('fails as late whatever its outcome after the timeout', async () => {
    const resolves = start((resolve) => resolve('done after all'))
    const rejects = start((_resolve, reject) => reject(new Error('aborted')))
    pass(100)
    await assert.rejects(resolves, /late/)
    await assert.rejects(rejects, /late/)
  })

  it('is abandoned two seconds after the timeout', async () => {
    let ended = false
    const run = start(() => undefined).finally(() => {
      ended = true
    })
    pass(100)
    pass(1999)
    await new Promise(setImmediate)
    assert.equal(ended, false)
    pass(1)
    await assert.rejects(run, /late/)
  })

  it('keeps an outcome that is already stored', async () => {
    const run = start((_resolve, reject) => reject(new Error('put off')), true)
    pass(100)
    await assert.rejects(run, /put off/)
  })

  it('has its own timeout, whatever those of other work are', async () => {
    const late: number[] = []
    const run = (ms: number) =>
      limits.run(() => new Promise(() => undefined), { ms, late: () => new Error(String(late.push(ms))), stands: () => false })
    const runs = Promise.allSettled([run(300), run(100), run(200)])
    pass(100)
    assert.deepEqual(late, [100])
    pass(50)
    const later = run(20)
    pass(20)
    assert.deepEqual(late, [100, 20])
    pass(30)
    pass(100)
    assert.deepEqual(late, [100, 20, 200, 300])
    pass(1_700)
    pass(100)
    pass(200)
    await Promise.all([runs, assert.rejects(later)])
  })

  it('has no timeout once the limits are closed', async () => {
    const work = limits.run(() => new Promise((resolve) => setTimeout(resolve, 200, 'done')), {
      ms: 100,
      late: () => assert.fail('the limits are closed'),
      stands: () => false,
    })
    limits.close()
    pass(200)
    assert.equal(await work, 'done')
  })
})
