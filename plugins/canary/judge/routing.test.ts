import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routeOf, shareOf } from './routing.js'

const keys = Array.from({ length: 64_000 }, (_, i) => String(i))

/** Chi-square of counts that should be equal. With 63 degrees of freedom, 1 of a million is above 130. */
function chiSquare(counts: readonly number[]): number {
  const mean = counts.reduce((a, b) => a + b, 0) / counts.length
  return counts.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0)
}

const tally = (values: readonly number[]) =>
  values.reduce<number[]>((counts, value) => counts.with(value, (counts[value] ?? 0) + 1), Array(64).fill(0))

test('shares and buckets of consecutive keys are uniform, and independent of each other', () => {
  const routes = keys.map((key) => routeOf('canary-1', key))
  assert.ok(routes.every(({ share, bucket }) => share >= 0 && share < 1 && Number.isInteger(bucket) && bucket >= 0 && bucket < 64))
  assert.ok(chiSquare(tally(routes.map(({ share }) => Math.floor(64 * share)))) < 130)
  assert.ok(chiSquare(tally(routes.map(({ bucket }) => bucket))) < 130)
  const cohort = routes.filter(({ share }) => share < 0.05)
  assert.ok(Math.abs(cohort.length / keys.length - 0.05) < 0.005)
  assert.ok(chiSquare(tally(cohort.map(({ bucket }) => bucket))) < 130)
})

test('each bit of a key flips each bit of its share in half of the cases', () => {
  const flips = Array(32).fill(0) as number[]
  const samples = 4000
  for (let i = 0; i < samples; i++) {
    const a = shareOf('c', `tenant-${i}-x`) * 2 ** 32
    const b = shareOf('c', `tenant-${i}-y`) * 2 ** 32
    for (let bit = 0; bit < 32; bit++) flips[bit] = (flips[bit] ?? 0) + (((a ^ b) >>> bit) & 1)
  }
  for (const flip of flips) assert.ok(Math.abs(flip / samples - 0.5) < 0.05, `${flip} of ${samples}`)
})

test('a key has the same route in every process, and a different one for another canary', () => {
  assert.deepEqual(routeOf('0198c1de', 'tenant-7'), routeOf('0198c1de', 'tenant-7'))
  const both = keys.filter((key) => shareOf('one', key) < 0.1 && shareOf('two', key) < 0.1)
  assert.ok(Math.abs(both.length / keys.length - 0.01) < 0.003)
})
