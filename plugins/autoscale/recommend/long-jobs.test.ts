import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import { burst, calm } from '../testing/long-jobs.js'
import { type Evaluation, simulate } from '../testing/simulate.js'
import { policyOf } from './policy.js'
import { type PastEvaluation, recommend, remember } from './recommend.js'

describe('pods that KEDA scales by the recommendation', () => {
  for (const [title, seconds] of [
    ['10 ms', 0.01],
    ['1 s', 1],
    ['30 s', 30],
    ['5 minutes', 300],
    ['20 minutes', 1200],
    ['6 hours', 21_600],
  ] as const) {
    it(`run a burst of jobs of ${title} and single ones after it once each, and go down to one afterwards`, () => {
      const jobs = [...burst(8, seconds), ...burst(1, seconds, 60 + seconds * 0.9), ...burst(1, seconds, 60 + seconds * 1.7)]
      const { doneAt, killed, podsAtEnd } = simulate({ ...calm, jobs })
      assert.deepEqual(killed, [])
      assert.ok(doneAt !== undefined)
      assert.equal(podsAtEnd, 1)
    })
  }

  it('run 8 jobs of 20 minutes beside each other', () => {
    const { doneAt = Infinity } = simulate({ ...calm, jobs: burst(8, 1200) })
    assert.ok(doneAt < 1200 + 600, `${doneAt} s`)
  })

  const lengths = fc.oneof(fc.constantFrom(0.01, 1, 20, 29, 31, 60, 299, 1200, 21_600), fc.double({ min: 0.01, max: 21_600, noNaN: true }))
  const jobs = fc
    .array(fc.record({ at: fc.integer({ min: 0, max: 8 * 3600 }), count: fc.integer({ min: 1, max: 30 }), seconds: lengths }), {
      minLength: 1,
      maxLength: 12,
    })
    .map((bursts) => bursts.flatMap(({ at, count, seconds }) => burst(count, seconds, at)))
  const scenarios = fc.record({
    jobs,
    concurrency: fc.integer({ min: 1, max: 5 }),
    limits: fc.record({ minWorkers: fc.integer({ min: 1, max: 3 }), maxWorkers: fc.integer({ min: 3, max: 12 }) }),
    costOptimization: fc.boolean(),
    spotInstances: fc.boolean(),
    offPeak: fc.boolean(),
    pods: fc.integer({ min: 1, max: 6 }),
    evaluationSeconds: fc.constantFrom(10, 30, 300),
    firstPoll: fc.constantFrom(0, 5, 10, 25),
    downSeconds: fc.constantFrom(0, 300),
    newLeaders: fc.array(fc.integer({ min: 0, max: 8 * 720 }).map((at) => at * 5)),
  })

  it('never end under a job that ran when KEDA read the number, once it is known how long jobs run', () => {
    fc.assert(
      fc.property(scenarios, ({ costOptimization, limits: some, offPeak, spotInstances, ...more }) => {
        const window = { window: { from: 14 * 60, to: 16 * 60 }, reduction: 0.7, timeZone: 'UTC' }
        const work = more.jobs.reduce((sum, { seconds }) => sum + seconds, 0)
        const { doneAt, evaluations, killed } = simulate({
          ...calm,
          ...more,
          untilSeconds: calm.untilSeconds + work,
          limits: { ...calm.limits, ...some },
          policy: { ...calm.policy, costOptimization, spotInstances, ...(offPeak ? { offPeak: window } : {}) },
        })
        for (const { longestKnown, polledAt, startedAt, toldAt } of killed) {
          // Nobody can know of a job that starts after the read, or that the first long job will be long.
          assert.ok(startedAt >= polledAt || longestKnown <= 30, JSON.stringify({ longestKnown, polledAt, startedAt, toldAt }))
          assert.ok(toldAt - startedAt <= 30 + 45, JSON.stringify({ polledAt, startedAt, toldAt }))
        }
        assert.ok(doneAt !== undefined, 'all jobs end')
        const most = Math.max(some.maxWorkers, more.pods)
        for (const { recommendation, signals } of evaluations) {
          assert.ok(recommendation.desired <= most, `${recommendation.desired} of ${most}: ${JSON.stringify(signals)}`)
          const { active, concurrency, nodes } = signals
          assert.ok(recommendation.desired >= Math.min(nodes, Math.ceil((active ?? 0) / concurrency)), JSON.stringify(signals))
        }
      }),
      { numRuns: Number(process.env.RUNS ?? 25) },
    )
  })
})

/** Recorded by testing/record-long-jobs.ts: jobs of 20 minutes, of which the last ones run alone. */
const { evaluations } = JSON.parse(readFileSync(new URL('../testing/long-jobs.json', import.meta.url), 'utf8')) as {
  readonly evaluations: readonly Evaluation[]
}

describe('the recorded jobs of 20 minutes', () => {
  it('get the same recommendations again', () => {
    const policy = policyOf(calm.policy)
    let history: readonly PastEvaluation[] = []
    for (const { limits, recommendation, signals } of evaluations) {
      const found = recommend(signals, limits, policy, history)
      assert.deepEqual(found, recommendation)
      history = remember(history, signals, found, policy)
    }
  })

  it('are never recommended fewer processes than there are while they run, and fewer afterwards', () => {
    const falls = evaluations.filter(({ recommendation, signals }) => recommendation.desired < signals.nodes)
    assert.ok(falls.length > 0)
    assert.deepEqual(
      falls.flatMap(({ signals }) => signals.active),
      falls.map(() => 0),
    )
    assert.ok(evaluations.some(({ signals }) => signals.active === 1 && signals.nodes > 1))
    assert.equal(evaluations.at(-1)?.recommendation.desired, 1)
  })
})
