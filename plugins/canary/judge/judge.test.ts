import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import { addAttempt, type Evidence, emptyEvidence, type FirstAttempt, judge, mergeEvidence, policyOf } from './index.js'

const baseline = { jobs: 500, failed: 5, lost: 0 }
const context = { shares: [0.1, 0.5], baseline }

interface Seen {
  readonly jobs: number
  readonly failed?: number
  readonly lost?: number
  readonly slow?: number
  readonly step?: number
  /** Of the sticky hash, 0 to 63. Default 64 of them. */
  readonly buckets?: number
}

/** Bad jobs are spread over the buckets. */
function add(
  evidence: Evidence,
  arm: 'stable' | 'canary',
  { jobs, failed = 0, lost = 0, slow = 0, step = 0, buckets = 64 }: Seen,
): Evidence {
  for (let i = 0; i < jobs; i++) {
    const outcome = i < failed ? 'failed' : i < failed + lost ? 'lost' : 'ok'
    addAttempt(evidence, { step, arm, stratum: '*', bucket: (i * 37) % buckets, outcome, slow: i >= jobs - slow })
  }
  return evidence
}

const seen = (canary: Seen, stable: Seen): Evidence => add(add(emptyEvidence(), 'canary', canary), 'stable', stable)

test('two failures in a row are enough to fail against a stable version that fails 1 %, one is not', () => {
  const { verdict, rule, metric, reason, needs } = judge(seen({ jobs: 2, failed: 2 }, { jobs: 0 }), policyOf(), context)
  assert.deepEqual([verdict, rule, metric, needs.jobs], ['FAIL', 'canary/fast-path', 'fail', 0])
  assert.match(reason, /^2 of 2 canary jobs failed \(100 %\); at most 3\.7 % would be tolerated, /)
  assert.equal(judge(seen({ jobs: 1, failed: 1 }, { jobs: 0 }), policyOf(), context).verdict, 'CONTINUE')
})

test('without any data on stable, a version that fails every job fails after about a dozen', () => {
  const verdicts = [8, 20].map((jobs) => judge(seen({ jobs, failed: jobs }, { jobs: 0 }), policyOf(), { shares: [1] }).verdict)
  assert.deepEqual(verdicts, ['CONTINUE', 'FAIL'])
})

test('lost jobs fail a canary on the fast path', () => {
  const { verdict, metric } = judge(seen({ jobs: 8, lost: 5 }, { jobs: 80 }), policyOf(), context)
  assert.deepEqual([verdict, metric], ['FAIL', 'lost'])
})

test('slow jobs fail a canary once the difference is certain and big enough', () => {
  const { verdict, rule, metric, reason } = judge(seen({ jobs: 300, slow: 90 }, { jobs: 2700, slow: 135 }), policyOf(), context)
  assert.deepEqual([verdict, rule, metric], ['FAIL', 'canary/sequential', 'slow'])
  assert.match(reason, /^90 of 300 canary jobs were slow \(30 %\) against 5 % of 2,700 stable jobs: worse by 25 percentage points ± /)
})

test('a canary as good as stable passes with enough jobs, and reports before that how many are missing', () => {
  const few = judge(seen({ jobs: 200, failed: 2, slow: 10 }, { jobs: 1800, failed: 18, slow: 90 }), policyOf(), {
    ...context,
    canaryJobsPerMinute: 10,
  })
  assert.equal(few.verdict, 'CONTINUE')
  assert.ok(few.needs.jobs !== null && few.needs.jobs > 100 && few.needs.minutes === few.needs.jobs / 10)
  const jobs = 100 * Math.ceil(2 + few.needs.jobs / 50)
  const enough = seen({ jobs, failed: jobs / 100, slow: jobs / 20 }, { jobs: 9 * jobs, failed: (9 * jobs) / 100, slow: (9 * jobs) / 20 })
  const passed = judge(enough, policyOf(), context)
  assert.deepEqual([passed.verdict, passed.needs], ['PASS', { jobs: 0, minutes: 0 }])
  assert.match(passed.reason, /^Of [\d,]+ canary jobs 1 % failed against 1 %, /)
  assert.equal(passed.health, 100)
})

test('a canary without jobs never passes', () => {
  const { verdict, rule, reason, health } = judge(seen({ jobs: 0 }, { jobs: 100_000 }), policyOf(), { shares: [0.00001] })
  assert.deepEqual([verdict, rule, reason, health], ['CONTINUE', 'canary/no-data', 'No canary job has ended yet', 100])
  assert.equal(judge(seen({ jobs: 49 }, { jobs: 441 }), policyOf(), context).rule, 'canary/no-data')
  assert.equal(judge(emptyEvidence(), policyOf(), { shares: [0.1] }).verdict, 'CONTINUE')
})

test('failures of one tenant are not attributed to the version', () => {
  const stable = { jobs: 4500, failed: 225 }
  const spread = judge(seen({ jobs: 500, failed: 60 }, stable), policyOf(), { shares: [0.1] })
  const evidence = seen({ jobs: 440 }, stable)
  for (let i = 0; i < 60; i++) addAttempt(evidence, { step: 0, arm: 'canary', stratum: '*', bucket: 5, outcome: 'failed', slow: false })
  const sequential = {
    ...policyOf(),
    metrics: { ...policyOf().metrics, fail: { tolerance: { absolute: 0.01, relative: 0.25 }, alpha: 0.02 } },
  }
  assert.equal(spread.verdict, 'FAIL')
  assert.equal(judge(evidence, sequential, { shares: [0.1] }).verdict, 'CONTINUE')
})

test('an outage that hits both versions in a late step is not blamed on the canary', () => {
  const evidence = seen({ jobs: 100, failed: 1 }, { jobs: 900, failed: 9 })
  add(evidence, 'canary', { jobs: 500, failed: 250, step: 1 })
  add(evidence, 'stable', { jobs: 500, failed: 250, step: 1 })
  assert.equal(judge(evidence, policyOf(), context).verdict, 'CONTINUE')
})

test('a canary that does not get its share is paused, one that misses it by chance is not', () => {
  const off = judge(seen({ jobs: 1000 }, { jobs: 1000 }), policyOf(), { shares: [0.1] })
  assert.deepEqual([off.verdict, off.rule], ['SAMPLE_RATIO', 'canary/sample-ratio'])
  assert.match(off.reason, /^The canary ended 1,000 of 2,000 first attempts \(50 %\) where 10 % were expected/)
  assert.notEqual(judge(seen({ jobs: 115 }, { jobs: 885 }), policyOf(), { shares: [0.1] }).verdict, 'SAMPLE_RATIO')
})

test('thresholds are health scores: a lower rollbackThreshold tolerates more, a higher successThreshold needs more', () => {
  const worse = seen({ jobs: 1000, slow: 90 }, { jobs: 9000, slow: 450 })
  assert.equal(judge(worse, policyOf(), context).verdict, 'FAIL')
  assert.equal(judge(worse, policyOf({ rollbackThreshold: 10 }), context).verdict, 'CONTINUE')
  const same = seen({ jobs: 4000, failed: 40, slow: 200 }, { jobs: 36_000, failed: 360, slow: 1800 })
  assert.equal(judge(same, policyOf(), context).verdict, 'PASS')
  assert.equal(judge(same, policyOf({ successThreshold: 99 }), context).verdict, 'CONTINUE')
})

test('evidence of several processes adds up to the same in any order, and stays plain JSON', () => {
  const attempt = fc.record<FirstAttempt>({
    step: fc.integer({ min: 0, max: 3 }),
    arm: fc.constantFrom('stable', 'canary'),
    stratum: fc.constantFrom('*', 'send', '__proto__', 'a/b', 'constructor'),
    bucket: fc.integer({ min: 0, max: 63 }),
    outcome: fc.constantFrom('ok', 'failed', 'lost'),
    slow: fc.constantFrom(true, false, undefined),
  })
  const of = (attempts: readonly FirstAttempt[]): Evidence => {
    const evidence = emptyEvidence()
    for (const each of attempts) addAttempt(evidence, each)
    return JSON.parse(JSON.stringify(evidence)) as Evidence
  }
  fc.assert(
    fc.property(fc.array(attempt), fc.array(attempt), (one, other) => {
      const all = of([...one, ...other])
      assert.deepEqual(mergeEvidence(of(one), of(other)), mergeEvidence(of(other), of(one)))
      assert.deepEqual(mergeEvidence(of(one), of(other)), all)
      const { verdict, ...rest } = judge(all, policyOf(), { shares: [0.1, 0.2, 0.3, 0.4] })
      assert.ok(['FAIL', 'PASS', 'CONTINUE', 'SAMPLE_RATIO'].includes(verdict))
      assert.deepEqual(JSON.parse(JSON.stringify(rest)), rest)
      assert.doesNotMatch(rest.reason, /NaN|Infinity|undefined/)
      assert.ok(rest.health >= 0 && rest.health <= 100)
    }),
  )
})

test('an enormous number of jobs gives finite results', () => {
  const cell = (failed: number) => Object.fromEntries(Array.from({ length: 64 }, (_, i) => [i, [1e9, failed, 1e7, 1e9, 0]]))
  const evidence = { cells: { '0/canary/*': cell(1e7), '0/stable/*': cell(1e7) } } as unknown as Evidence
  assert.equal(judge(evidence, policyOf(), { shares: [0.5] }).verdict, 'PASS')
})

test('failures of one key count less on the fast path than the same number across all keys', () => {
  const stable: Seen = { jobs: 400, failed: 4 }
  const spread = add(emptyEvidence(), 'canary', { jobs: 64, failed: 12 })
  const ofOneKey = add(emptyEvidence(), 'canary', { jobs: 52 })
  for (let i = 0; i < 12; i++) addAttempt(ofOneKey, { step: 0, arm: 'canary', stratum: '*', bucket: 5, outcome: 'failed' })
  const verdicts = [spread, ofOneKey].map((evidence) => judge(add(evidence, 'stable', stable), policyOf(), context).verdict)
  assert.deepEqual(verdicts, ['FAIL', 'CONTINUE'])
})

test('a version that fails every job fails immediately, even if all jobs have one key', () => {
  const evidence = seen({ jobs: 6, failed: 6, buckets: 1 }, { jobs: 0 })
  assert.equal(judge(evidence, policyOf(), context).verdict, 'FAIL')
})
