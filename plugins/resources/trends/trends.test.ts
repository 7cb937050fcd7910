import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { snapshot } from '../testing/snapshot.js'
import { aboutTime, forecast } from './forecast.js'
import { trendsOf } from './node-trends.js'
import { type Point, theilSen, thin } from './theil-sen.js'

const minute = 60_000
/** One point a minute. */
const series = (count: number, value: (index: number) => number): readonly Point[] =>
  Array.from({ length: count }, (_, index) => ({ at: index * minute, value: value(index) }))
/** The same every time, between -0.5 and 0.5. */
const noise = (index: number): number => ((index * 7919) % 1000) / 1000 - 0.5

describe('a trend', () => {
  const cases: readonly (readonly [title: string, points: readonly Point[], slopePerMinute: number, within: number])[] = [
    ['of a line is its slope', series(10, (index) => 100 + 3 * index), 3, 1e-9],
    ['of a constant is zero', series(10, () => 42), 0, 1e-9],
    ['is robust against a quarter of outliers', series(40, (index) => (index % 4 === 0 ? 10_000 : 2 * index)), 2, 0.3],
    ['is found in noise', series(60, (index) => index + 20 * noise(index)), 1, 0.15],
    ['of falling values is negative', series(10, (index) => 100 - index), -1, 1e-9],
  ]
  for (const [title, points, slope, within] of cases) {
    it(title, () => {
      const found = theilSen(points)
      assert.ok(found !== undefined && Math.abs(found.slope * minute - slope) <= within, `${found && found.slope * minute}`)
    })
  }

  it('needs three distinct times', () => {
    assert.equal(theilSen(series(2, (index) => index)), undefined)
    assert.equal(theilSen([1, 2, 3, 4].map((value) => ({ at: 0, value }))), undefined)
  })

  it('keeps the last of evenly chosen points', () => {
    assert.deepEqual(thin([1, 2, 3, 4, 5, 6], 3), [2, 4, 6])
    assert.deepEqual(thin([1, 2], 3), [1, 2])
  })
})

describe('a forecast', () => {
  const cases: readonly (readonly [title: string, points: readonly Point[], limit: number | undefined, minutes: number | undefined])[] = [
    ['is the time when steady growth reaches the limit', series(60, (index) => 100 + index), 339, 180],
    ['is now when the limit is passed', series(60, (index) => 100 + index), 50, 0],
    ['is absent without a limit', series(60, (index) => 100 + index), undefined, undefined],
    ['is absent for falling values', series(60, (index) => 100 - index), 200, undefined],
    ['is absent for a sawtooth pattern, as of a garbage collector', series(60, (index) => 100 + (index % 10)), 200, undefined],
    ['is absent for noise', series(60, (index) => 100 + 10 * noise(index)), 200, undefined],
    ['is absent after nineteen minutes', series(20, (index) => 100 + index), 200, undefined],
    ['is absent for few points', [0, 10, 20, 30].map((at) => ({ at: at * minute, value: at })), 200, undefined],
    ['is absent beyond thirty days', series(60, (index) => 100 + index), 100_000_000, undefined],
  ]
  for (const [title, points, limit, minutes] of cases) {
    it(title, () => {
      const limitInMs = forecast(points, limit)?.limitInMs
      assert.equal(limitInMs === undefined ? undefined : Math.round(limitInMs / minute), minutes)
    })
  }

  for (const [ms, text] of [
    [20_000, 'less than a minute'],
    [40 * minute, 'about 40 min'],
    [180 * minute, 'about 3 h'],
    [5 * 1440 * minute, 'about 5 days'],
  ] as const) {
    it(`says ${text}`, () => assert.equal(aboutTime(ms), text))
  }
})

describe('the direction of a trend', () => {
  const rssOf = async (count: number, everyMs: number) => {
    const growing = Array.from({ length: count }, (_, n) => snapshot({ node: 'a', at: n * everyMs, rss: 1000 + n }))
    return (await trendsOf(growing.reverse())).find(({ metric }) => metric === 'rss')?.direction
  }

  it('is steady for few snapshots or a short time', async () => {
    assert.equal(await rssOf(4, 5 * minute), 'steady')
    assert.equal(await rssOf(10, 20_000), 'steady')
    assert.equal(await rssOf(11, 30_000), 'up')
  })
})
