import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { runInTime } from './time-limit.js'

describe('work with a time limit', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
  afterEach(() => mock.timers.reset())

  /** Work that ends when it is told that it is late, by the outcome given. */
  const start = (onLate: (resolve: (value: unknown) => void, reject: (error: Error) => void) => void, stands = false) => {
    let told: () => void = () => undefined
    const work = () =>
      new Promise((resolve, reject) => {
        told = () => onLate(resolve, reject)
      })
    const late = () => {
      told()
      return new Error('late')
    }
    return runInTime(work, { ms: 100, late, stands: () => stands })
  }

  it('gives its outcome when it ends in time', async () => {
    const limit = { ms: 100, late: () => assert.fail('it was in time'), stands: () => false }
    assert.equal(await runInTime(() => 7, limit), 7)
    await assert.rejects(
      runInTime(() => {
        throw new Error('own')
      }, limit),
      /own/,
    )
    mock.timers.tick(10_000)
  })

  it('is late whatever it answers after its time', async () => {
    const resolves = start((resolve) => resolve('done after all'))
    const rejects = start((_resolve, reject) => reject(new Error('aborted')))
    mock.timers.tick(100)
    await assert.rejects(resolves, /late/)
    await assert.rejects(rejects, /late/)
  })

  it('is given up after two more seconds when it goes on', async () => {
    let ended = false
    const run = start(() => undefined).finally(() => {
      ended = true
    })
    mock.timers.tick(100)
    mock.timers.tick(1999)
    await new Promise(setImmediate)
    assert.equal(ended, false)
    mock.timers.tick(1)
    await assert.rejects(run, /late/)
  })

  it('stands by an outcome that has happened elsewhere', async () => {
    const run = start((_resolve, reject) => reject(new Error('put off')), true)
    mock.timers.tick(100)
    await assert.rejects(run, /put off/)
  })
})
