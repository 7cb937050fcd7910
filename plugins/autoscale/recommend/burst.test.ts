import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { policyOf } from './policy.js'
import { type PastEvaluation, type Recommendation, recommend, remember, type ScalingLimits, type Signals } from './recommend.js'

interface Recording {
  readonly policy: { readonly drainSeconds: number; readonly stabilizationSeconds: number }
  readonly evaluations: readonly { readonly signals: Signals; readonly limits: ScalingLimits; readonly recommendation: Recommendation }[]
}
/** Recorded by testing/record-burst.ts. */
const { evaluations, policy } = JSON.parse(readFileSync(new URL('../testing/burst-10000.json', import.meta.url), 'utf8')) as Recording

describe('the recorded burst of 10,000 jobs', () => {
  it('gets the same recommendations again', () => {
    const act = policyOf({ ...policy, costOptimization: false, spotInstances: false, graceSeconds: 30 })
    let history: readonly PastEvaluation[] = []
    for (const { limits, recommendation, signals } of evaluations) {
      const found = recommend(signals, limits, act, history)
      assert.deepEqual(found, recommendation)
      history = remember(history, signals, found, act)
    }
  })

  it('was handled without flapping: once up, once down', () => {
    const counts = evaluations.map(({ signals }) => signals.current)
    const changes = counts.flatMap((count, index) =>
      index > 0 && count !== counts[index - 1] ? [Math.sign(count - (counts[index - 1] ?? 0))] : [],
    )
    const turns = changes.filter((change, index) => index > 0 && change !== changes[index - 1]).length
    assert.equal(turns, 1, counts.join(' '))
    const limits = evaluations[0]?.limits
    assert.deepEqual([counts[0], Math.max(...counts), counts.at(-1)], [1, limits?.maxWorkers, 1])
  })

  it('left no job behind', () => {
    const backlogs = evaluations.map(({ signals }) => signals.backlog)
    assert.ok(Math.max(...backlogs) > 8000)
    assert.equal(backlogs.at(-1), 0)
    assert.equal(evaluations.at(-1)?.signals.attempts, 10_000)
  })
})
