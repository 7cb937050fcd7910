import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bucketOf } from '../shared/durations.js'
import { Counters } from './counters.js'

describe('counters of attempts', () => {
  it('count by version, and return the counts since the last drain', () => {
    const counters = new Counters()
    counters.completed('1.0.0', 10)
    counters.failed('1.0.0', 5)
    counters.lost('1.0.0', 7)
    counters.timedOut('1.0.0', 10)
    counters.cancelled('1.0.0')
    counters.completed('2.0.0', 1)
    assert.deepEqual(counters.drain(), [
      {
        version: '1.0.0',
        completed: 1,
        failed: 3,
        lost: 1,
        timedOut: 1,
        cancelled: 1,
        totalMs: 32,
        durations: { [bucketOf(5)]: 1, [bucketOf(7)]: 1, [bucketOf(10)]: 2 },
      },
      { version: '2.0.0', completed: 1, failed: 0, lost: 0, timedOut: 0, cancelled: 0, totalMs: 1, durations: { [bucketOf(1)]: 1 } },
    ])
    assert.deepEqual(counters.drain(), [])
    counters.cancelled('2.0.0')
    assert.equal(counters.drain()[0]?.cancelled, 1)
    counters.lost('2.0.0')
    assert.deepEqual(counters.drain(), [
      { version: '2.0.0', completed: 0, failed: 1, lost: 1, timedOut: 0, cancelled: 0, totalMs: 0, durations: {} },
    ])
  })

  it('count in-flight attempts, which a drain does not reset', () => {
    const counters = new Counters()
    counters.begin('1.0.0')
    counters.begin('1.0.0')
    counters.end('1.0.0')
    counters.completed('1.0.0', 1)
    counters.drain()
    assert.equal(counters.inFlight('1.0.0'), 1)
    counters.end('1.0.0')
    assert.deepEqual([counters.inFlight('1.0.0'), counters.inFlight('9.9.9')], [0, 0])
    assert.deepEqual(counters.drain(), [])
  })

  it('can be restored with drained counts that could not be stored', () => {
    const counters = new Counters()
    counters.failed('1.0.0', 3)
    const drained = counters.drain()
    counters.completed('1.0.0', 4)
    counters.restore(drained)
    assert.deepEqual(counters.drain(), [
      {
        version: '1.0.0',
        completed: 1,
        failed: 1,
        lost: 0,
        timedOut: 0,
        cancelled: 0,
        totalMs: 7,
        durations: { [bucketOf(3)]: 1, [bucketOf(4)]: 1 },
      },
    ])
  })
})
