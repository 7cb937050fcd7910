import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import { emptyEvidence } from './evidence.js'
import { addLatest, latestSince, mergeLatest, mostLatest } from './latest.js'
import type { FirstAttempt } from './types.js'

const outcomes = ['ok', 'failed', 'lost'] as const
const attempts = fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.nat(2)), { minLength: 20, maxLength: 3 * mostLatest, size: 'max' })

const attempt = ([at, code]: readonly [number, number]): FirstAttempt => ({
  step: 0,
  arm: 'canary',
  stratum: '*',
  bucket: 0,
  outcome: outcomes[code] ?? 'ok',
  at,
})

it('the latest attempts are the last ones by time, whatever order they end in and whichever process saw them', () => {
  fc.assert(
    fc.property(attempts, attempts, (here, there) => {
      const [one, other] = [emptyEvidence(), emptyEvidence()]
      for (const end of here) addLatest(one, attempt(end))
      for (const end of there) addLatest(other, attempt(end))
      mergeLatest(one, other)
      const expected = [...here, ...there].toSorted((a, b) => a[0] - b[0] || a[1] - b[1]).slice(-mostLatest)
      assert.deepEqual(latestSince(one).canary, expected)
    }),
  )
})
