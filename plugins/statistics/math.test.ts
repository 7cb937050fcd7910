import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { logBeta, logBetaTail, logEvidenceAbove, logGamma, sequentialHalfWidth, wilsonUpper } from './math.js'

const near = (actual: number, expected: number, tolerance = 1e-11) =>
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`)

// Expected values: mpmath 1.3 with 40 digits, by numerical integration of the definitions, or scipy 1.17, where no closed form is given.

test('logGamma and logBeta match mpmath, even for a billion', () => {
  near(logGamma(0.5), Math.log(Math.PI) / 2)
  near(logGamma(1), 0)
  near(logGamma(7.25), 7.05218545073854)
  near(logGamma(20), 39.3398841871995)
  near(logGamma(1e9), 19723265827.5037)
  near(logBeta(0.5, 0.5), Math.log(Math.PI))
  near(logBeta(25, 1000), -118.20673214275658)
  near(logBeta(1, 1e8), -Math.log(1e8))
  near(logBeta(1e6, 2e6), -1909548.290968533)
})

test('logBetaTail matches mpmath and closed forms', () => {
  near(logBetaTail(0.05, 3, 1), Math.log1p(-(0.05 ** 3)))
  near(logBetaTail(0.9, 2, 5), -9.8081773727318)
  near(logBetaTail(0.02, 17, 102), -2.68531948140827e-10)
  near(logBetaTail(0.3, 300, 700), -0.70051663412621, 1e-9)
  for (const b of [1, 7, 1e6]) near(logBetaTail(0.2, 1, b), b * Math.log(0.8))
})

test('the evidence of a rate above a limit matches mpmath', () => {
  near(logEvidenceAbove(3, 3, 0.05), 6.79127082381576)
  near(logEvidenceAbove(1, 100, 0.01), -1.5372299616614)
  near(logEvidenceAbove(17, 118, 0.0274), 13.4590532278612)
  near(logEvidenceAbove(50, 1000, 0.04), -1.0892444500464, 1e-9)
  near(logEvidenceAbove(400, 400, 0.95), 17.4960484557257, 1e-9)
  assert.equal(logEvidenceAbove(0, 0, 0.05), Number.NEGATIVE_INFINITY)
  assert.equal(logEvidenceAbove(0, 1e9, 0.05), Number.NEGATIVE_INFINITY)
})

test('the expected evidence after the next job equals the current one while the rate equals the limit', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 0, max: 300 }),
      fc.double({ min: 0.001, max: 0.9, noNaN: true }),
      (bad, good, limit) => {
        const now = logEvidenceAbove(bad, bad + good, limit)
        const afterBad = limit * Math.exp(logEvidenceAbove(bad + 1, bad + good + 1, limit) - now)
        const afterGood = (1 - limit) * Math.exp(logEvidenceAbove(bad, bad + good + 1, limit) - now)
        near(afterBad + afterGood, 1, 1e-7)
      },
    ),
  )
})

test('the upper end of the Wilson interval solves its equation, is 1 without jobs, and is correct for no bad jobs and only bad jobs', () => {
  assert.equal(wilsonUpper(0, 0, 3), 1)
  near(wilsonUpper(0, 200, 2), 4 / 204)
  near(wilsonUpper(200, 200, 3), 1)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e9 }), fc.double({ min: 0, max: 1, noNaN: true }), (jobs, part) => {
      const bad = Math.floor(part * jobs)
      const upper = wilsonUpper(bad, jobs, 2.3)
      near((bad / jobs - upper) ** 2, (2.3 ** 2 * upper * (1 - upper)) / jobs, 1e-9)
      assert.ok(upper >= bad / jobs && upper <= 1)
    }),
  )
})

test('at its half width the mixture likelihood ratio is 1 / (2 alpha)', () => {
  for (const [variance, scale, alpha] of [
    [0.0006, 0.02, 0.02],
    [1e-9, 0.02, 0.005],
    [0.01, 0.04, 0.0005],
  ] as const) {
    const h = sequentialHalfWidth(variance, scale, alpha)
    const [n, m] = [1e4, 12 * Math.sqrt((variance * scale ** 2) / (variance + scale ** 2))]
    const centre = (h * scale ** 2) / (variance + scale ** 2)
    let ratio = 0
    for (let i = 0; i <= n; i++) {
      const theta = centre - m + (2 * m * i) / n
      const prior = Math.exp(-(theta ** 2) / (2 * scale ** 2)) / (scale * Math.sqrt(2 * Math.PI))
      ratio += prior * Math.exp((h * theta - theta ** 2 / 2) / variance) * ((2 * m) / n)
    }
    near(ratio * 2 * alpha, 1, 1e-6)
  }
  assert.equal(sequentialHalfWidth(Number.POSITIVE_INFINITY, 0.02, 0.02), Number.POSITIVE_INFINITY)
})
