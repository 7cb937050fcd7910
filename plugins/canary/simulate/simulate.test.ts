import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ladder, policyOf } from '../judge/index.js'
import { parsePair, parseRate, parseRatio, parseSteps } from './parse.js'
import { independentJobs } from './population.js'
import { Random } from './random.js'
import { type Outcome, simulateOnce } from './run.js'

function canaries(failure: number, jobsPerSecond: number, percent: number, runs: number): readonly Outcome[] {
  const random = new Random(7)
  const population = independentJobs({ failure: 0.01, slow: 0.05, lost: 0 }, { failure, slow: 0.05, lost: 0 })
  const steps = ladder(percent, 600_000)
  const simulation = { steps, policy: policyOf(), jobsPerSecond, population, baseline: { jobs: 500, failed: 5, lost: 0 } }
  return Array.from({ length: runs }, () => simulateOnce(simulation, random))
}

test('a version that fails every job at 20 per second is rolled back within 25 casualties, whatever its target', () => {
  for (const percent of [1, 20, 100]) {
    for (const { move, casualties } of canaries(1, 20, percent, 30))
      assert.ok(move === 'rollback' && casualties <= 25, `${move} ${casualties}`)
  }
})

test('a version that fails every job is rolled back within five jobs, one that fails ten times as often is rolled back, an equal one is not', () => {
  assert.ok(canaries(1, 5, 50, 30).every(({ move, canaryJobs }) => move === 'rollback' && canaryJobs <= 5))
  assert.ok(canaries(0.1, 20, 50, 10).every(({ move }) => move === 'rollback'))
  assert.ok(canaries(0.01, 5, 50, 10).every(({ move }) => move !== 'rollback'))
})

test('a seed determines the result', () => {
  assert.deepEqual(canaries(0.1, 20, 50, 3), canaries(0.1, 20, 50, 3))
})

test('Poisson numbers have the expected mean and variance', () => {
  const random = new Random(3)
  for (const mean of [0.1, 7, 200]) {
    const values = Array.from({ length: 20_000 }, () => random.poisson(mean))
    const average = values.reduce((a, b) => a + b, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - average) ** 2, 0) / values.length
    assert.ok(Math.abs(average / mean - 1) < 0.08 && Math.abs(variance / mean - 1) < 0.08, `${mean}: ${average}, ${variance}`)
  }
})

test('options are read with their units', () => {
  assert.deepEqual([parseRatio('x', '3%'), parseRatio('x', '0.5 %'), parseRatio('x', '0.25')], [0.03, 0.005, 0.25])
  assert.deepEqual([parseRate('rate', '5/s'), parseRate('rate', '300/m'), parseRate('rate', '2')], [5, 5, 2])
  assert.deepEqual(parsePair('slow', '5%:20%'), [0.05, 0.2])
  assert.deepEqual(parseSteps('steps', '5%:10m,100%:1h'), [
    { share: 0.05, minDurationMs: 600_000 },
    { share: 1, minDurationMs: 3_600_000 },
  ])
})

test('an invalid option is refused with its name, its value and the expected format', () => {
  for (const [read, text] of [
    [parseRatio, '101%'],
    [parseRatio, '-1%'],
    [parseRatio, 'NaN'],
    [parseRate, '0/s'],
    [parseRate, '5/y'],
    [parseRate, '1e9/s'],
    [parsePair, '5%'],
    [parsePair, '5%:6%:7%'],
    [parseSteps, ''],
    [parseSteps, '5%'],
    [parseSteps, '0%:1m'],
    [parseSteps, '10%:1m,5%:1m'],
    [parseSteps, '5%:0m'],
    [parseSteps, '5%:31d'],
  ] as const) {
    assert.throws(
      () => read('some', text),
      { code: 'CANARY_SIMULATION_OPTION', message: new RegExp(`--some is "${text}"; it must be `) },
      text,
    )
  }
})
