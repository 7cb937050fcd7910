import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countText, durationText } from './words.js'

it('writes durations and counts in words', () => {
  const cases = [
    [-1, '0 ms'],
    [340, '340 ms'],
    [999.6, '1 s'],
    [12_400, '12 s'],
    [59_600, '1 min'],
    [3_599_000, '1 h'],
    [7_500_000, '2 h 5 min'],
    [172_800_000, '2 d'],
    [273_600_000, '3 d 4 h'],
  ] as const
  for (const [ms, text] of cases) assert.equal(durationText(ms), text)
  assert.deepEqual([countText(1, 'job'), countText(12_340, 'job'), countText(2, 'is', 'are')], ['1 job', '12,340 jobs', '2 are'])
})
