import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { backoffFault, defaultMaxMs, mostBackoffMs, retryWait } from './backoff.js'

describe('the wait before a retry', () => {
  const types = fc.constantFrom('fixed', 'exponential')
  const ms = fc.integer({ min: 0, max: mostBackoffMs })
  const share = fc.double({ min: 0, max: 1, noNaN: true })

  it('is a whole number of ms from 0 to max, at any attempt and with any jitter', () => {
    const backoffs = fc.record({ type: types, delay: ms, max: fc.integer({ min: 1, max: mostBackoffMs }), jitter: share })
    fc.assert(
      fc.property(backoffs, fc.integer({ min: 1, max: 1_000 }), share, (backoff, attempt, random) => {
        const wait = retryWait(backoff, attempt, random)
        return Number.isSafeInteger(wait) && wait >= 0 && wait <= backoff.max
      }),
    )
  })

  it('is at most 24 h without a max, and never less than the jitter leaves', () => {
    fc.assert(
      fc.property(types, ms, share, fc.integer({ min: 1, max: 100 }), share, (type, delay, jitter, attempt, random) => {
        const [wait, full] = [retryWait({ type, delay, jitter }, attempt, random), retryWait({ type, delay }, attempt, random)]
        return full <= defaultMaxMs && wait <= full && wait >= Math.floor(full * (1 - jitter))
      }),
    )
  })

  it('doubles from attempt to attempt until its maximum if it is exponential, and stays the same if it is fixed', () => {
    const waits = (type: string) => [1, 2, 3, 4, 100].map((attempt) => retryWait({ type, delay: 1000, max: 5000 }, attempt, 0))
    assert.deepEqual(waits('exponential'), [1000, 2000, 4000, 5000, 5000])
    assert.deepEqual(waits('fixed'), [1000, 1000, 1000, 1000, 1000])
  })

  it('is within its limits whatever the options of another producer contain', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), fc.anything(), (type, delay, max, jitter) => {
        const wait = retryWait({ type, delay, max, jitter } as never, 3, 0.5)
        return Number.isSafeInteger(wait) && wait >= 0 && wait <= mostBackoffMs
      }),
    )
  })

  it('is refused with a delay, max or jitter out of range', () => {
    assert.equal(backoffFault({ type: 'fixed', delay: 5, max: 10, jitter: 1 }), undefined)
    for (const wrong of [
      { delay: -1 },
      { delay: Number.NaN },
      { delay: 1, max: 0 },
      { delay: 1, jitter: 1.1 },
      { delay: 1, jitter: -0.1 },
    ]) {
      assert.notEqual(backoffFault({ type: 'fixed', ...wrong }), undefined, JSON.stringify(wrong))
    }
    assert.notEqual(backoffFault(Number.POSITIVE_INFINITY), undefined)
  })
})
