import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bucketOf, durationBounds, percentile, sumDurations } from './durations.js'

/** Counted as a worker does. */
const counted = (times: readonly number[]) => sumDurations(times.map((ms) => ({ [bucketOf(ms)]: 1 })))

describe('run times in buckets', () => {
  it('have bounds from 0.25 ms to 18.6 h, each 19 % above the previous one, including every power of two', () => {
    assert.deepEqual([durationBounds[0], durationBounds.at(-1), durationBounds.length], [0.25, 2 ** 26, 113])
    durationBounds.forEach((bound, index) => {
      if (index % 4 === 0) assert.equal(bound, 2 ** (index / 4 - 2))
      const before = durationBounds[index - 1]
      if (before !== undefined) assert.ok(Math.abs(bound / before - 2 ** 0.25) < 0.004, `${before} to ${bound}`)
    })
  })

  it('fall into the first bucket whose bound they do not exceed', () => {
    durationBounds.forEach((bound, index) => assert.deepEqual([bucketOf(bound), bucketOf(bound * 1.0001)], [index, index + 1]))
    assert.deepEqual([bucketOf(0), bucketOf(Number.MAX_VALUE), bucketOf(Infinity)], [0, 113, 113])
  })

  it('have percentiles within 10 % of the exact ones, even when summed from parts', () => {
    const times = Array.from({ length: 5_000 }, (_, n) => 0.26 * 1.0038 ** n).sort((a, b) => a - b)
    const buckets = sumDurations([counted(times.slice(0, 999)), counted(times.slice(999))])
    assert.deepEqual(buckets, counted(times))
    for (const q of [0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1]) {
      const exact = times[Math.max(0, Math.ceil(q * times.length) - 1)] ?? 0
      const found = percentile(buckets, q) ?? 0
      assert.ok(Math.abs(found / exact - 1) <= 0.1, `${q}: ${found}, not ${exact}`)
    }
  })

  it('have no percentile if there are none, and the last bound as percentile above all bounds', () => {
    assert.deepEqual(
      [percentile({}, 0.5), percentile(counted([0]), 0.5), percentile(counted([1e12]), 0.5)],
      [undefined, 0.125, durationBounds.at(-1)],
    )
    for (const q of [-0.1, 1.1, Number.NaN, 95]) assert.throws(() => percentile({}, q), RangeError)
  })
})
