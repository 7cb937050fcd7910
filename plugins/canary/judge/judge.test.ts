import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import { addAttempt, type Evidence, emptyEvidence, type FirstAttempt, judge, mergeEvidence, nextMove, policyOf, verdicts } from './index.js'

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
  assert.equal(judge(evidence, policyOf(), context).verdict, 'OUTAGE')
})

test('a canary that does not get its share is paused, one that misses it by chance is not', () => {
  const off = judge(seen({ jobs: 1000 }, { jobs: 1000 }), policyOf(), { shares: [0.1] })
  assert.deepEqual([off.verdict, off.rule], ['SAMPLE_RATIO', 'canary/sample-ratio'])
  assert.match(off.reason, /^The canary ended 1,000 of 2,000 first attempts \(50 %\) where 10 % were expected/)
  assert.notEqual(judge(seen({ jobs: 115 }, { jobs: 885 }), policyOf(), { shares: [0.1] }).verdict, 'SAMPLE_RATIO')
})

test('a lower rollbackThreshold tolerates more', () => {
  const worse = seen({ jobs: 1000, slow: 90 }, { jobs: 9000, slow: 450 })
  assert.equal(judge(worse, policyOf(), context).verdict, 'FAIL')
  assert.equal(judge(worse, policyOf({ rollbackThreshold: 10 }), context).verdict, 'CONTINUE')
})

test('with a successThreshold, a canary passes with at least that health, once there are enough jobs', () => {
  const verdict = (canary: Seen, stable: Seen, successThreshold?: number) => {
    const { rule, verdict: found } = judge(seen(canary, stable), policyOf({ successThreshold }), { shares: [0.1], baseline })
    return `${found} ${rule}`
  }
  const same: readonly [Seen, Seen] = [
    { jobs: 60, slow: 3 },
    { jobs: 540, slow: 27 },
  ]
  assert.equal(verdict(...same), 'CONTINUE canary/sequential')
  assert.equal(verdict(...same, 50), 'PASS canary/success-threshold')
  assert.equal(verdict(...same, 100), 'PASS canary/success-threshold')
  assert.equal(verdict({ jobs: 49 }, { jobs: 441 }, 0), 'CONTINUE canary/no-data')
  // Worse by 0.75 of the tolerance.
  const worse: readonly [Seen, Seen] = [
    { jobs: 400, failed: 7 },
    { jobs: 3_600, failed: 36 },
  ]
  assert.equal(verdict(...worse, 60), 'PASS canary/success-threshold')
  assert.equal(verdict(...worse, 65), 'CONTINUE canary/success-threshold')
  assert.equal(verdict({ jobs: 60, failed: 60 }, { jobs: 540 }, 0), 'FAIL canary/fast-path')
  const { needs, reason } = judge(seen(...worse), policyOf({ successThreshold: 65 }), { shares: [0.1], baseline })
  assert.match(reason, /^Of 400 canary jobs 1\.8 % failed against 1 %.*: health 63 is below the success threshold of 65$/)
  assert.equal(needs.minutes, null)
})

test('a canary that begins in an outage of both versions is not blamed, and the reason says that stable fails too', () => {
  const recent = { jobs: 30, failed: 30, lost: 0 }
  const before = { jobs: 500, failed: 35, lost: 0 }
  const verdict = (canary: Seen, stable: Seen, more: object = {}) =>
    judge(seen(canary, stable), policyOf(), { shares: [0.5], baseline: before, recent, ...more })
  // Even before the first stable job has ended, and without any history.
  assert.notEqual(verdict({ jobs: 2, failed: 2 }, { jobs: 0 }).verdict, 'FAIL')
  const { reason, rule, verdict: found } = verdict({ jobs: 12, failed: 12 }, { jobs: 14, failed: 14 })
  assert.deepEqual([found, rule], ['OUTAGE', 'canary/outage'])
  assert.match(reason, /^Stable fails too: 12 of 12 canary jobs failed \(100 %\), and 44 of 44 stable jobs/)
  for (const jobs of [20, 200, 20_000]) {
    const both = seen({ jobs, failed: jobs }, { jobs, failed: jobs })
    assert.equal(judge(both, policyOf(), { shares: [0.5] }).verdict, 'OUTAGE', `${jobs}`)
    assert.equal(verdict({ jobs, lost: jobs }, { jobs, lost: jobs }).verdict, 'OUTAGE', `${jobs} lost`)
  }
  // A version that fails when stable has recovered is worse.
  assert.equal(verdict({ jobs: 12, failed: 12 }, { jobs: 14 }).verdict, 'FAIL')
  // One that works is no part of the outage.
  assert.equal(verdict({ jobs: 60 }, { jobs: 60, failed: 60 }).verdict, 'CONTINUE')
  // Once an operator has resumed it, these jobs do not pause it again.
  const counts = judge(seen({ jobs: 12, failed: 12 }, { jobs: 14, failed: 14 }), policyOf(), { shares: [0.5] }).counts
  assert.equal(verdict({ jobs: 30, failed: 12 }, { jobs: 30, failed: 14 }, { excused: counts }).verdict, 'CONTINUE')
  assert.equal(verdict({ jobs: 30, failed: 30 }, { jobs: 30, failed: 30 }, { excused: counts }).verdict, 'OUTAGE')
})

/** Evidence of jobs that end one after the other. `b` of the canary, `B` of stable fail; `.` and `o` are good ones of them. */
function told(jobs: string, more: object = {}): Evidence {
  const evidence = emptyEvidence()
  for (const [i, job] of jobs.split('').entries()) {
    const arm = job === 'b' || job === '.' ? 'canary' : 'stable'
    const outcome = job === 'b' || job === 'B' ? 'failed' : 'ok'
    addAttempt(evidence, { step: 0, arm, stratum: '*', bucket: (i * 37) % 64, outcome, at: 1_000 + i, ...more })
  }
  return evidence
}

test('an outage is found by the latest jobs, whatever good ones were before', () => {
  const young = { jobs: 300, failed: 0, lost: 0 }
  const good = 'oo.o'.repeat(100)
  for (const before of ['', good]) {
    for (const [baseline, recent] of [[], [young, young], [young], [{ jobs: 9_000, failed: 90, lost: 0 }]]) {
      const history = { shares: [0.5], ...(baseline && { baseline }), ...(recent && { recent }) }
      let outage = 0
      for (let jobs = 1; jobs <= 40; jobs++) {
        const { reason, verdict } = judge(told(before + 'bB'.repeat(40).slice(0, jobs)), policyOf(), history)
        assert.notEqual(verdict, 'FAIL', `${jobs} ${reason}`)
        if (verdict !== 'OUTAGE') continue
        outage ||= jobs
        assert.match(reason, /^Stable fails too: /)
      }
      assert.ok(outage > 0, `${before.length} ${JSON.stringify(history)}`)
      // It is over for stable.
      const { verdict } = judge(told(`${before}${'bB'.repeat(6)}${'bo'.repeat(80)}`), policyOf(), history)
      assert.equal(verdict, 'FAIL')
    }
  }
  // Jobs from before an operator resumed it do not count.
  const evidence = told('bB'.repeat(40))
  const { counts } = judge(evidence, policyOf(), { shares: [0.5] })
  assert.notEqual(judge(evidence, policyOf(), { shares: [0.5], excused: { ...counts, at: 2_000 } }).verdict, 'OUTAGE')
})

test('a version whose jobs fail is not blamed before it is known whether those of stable do, unless that would take long', () => {
  const verdict = (jobs: string, share: number) => judge(told(jobs), policyOf(), { shares: [share], baseline }).verdict
  assert.deepEqual(
    ['bb', 'bbB', 'bbbbbbbbb', 'bbbbbbbbbb', 'bbbbbboooooooooooooooooooo'].map((jobs) => verdict(jobs, 0.5)),
    ['CONTINUE', 'CONTINUE', 'CONTINUE', 'FAIL', 'FAIL'],
  )
  assert.deepEqual(
    ['bb', 'bbb'].map((jobs) => verdict(jobs, 0.05)),
    ['CONTINUE', 'FAIL'],
  )
  assert.equal(verdict('bb', 1), 'FAIL')
})

test('a version gets no more jobs while most of them fail', () => {
  const { reason, rule, verdict } = judge(told('o.o.bBbBbB'), policyOf(), { shares: [0.5] })
  assert.deepEqual([verdict, rule], ['CONTINUE', 'canary/failing'])
  assert.match(reason, /^3 of the last 5 canary jobs failed: the version gets no more jobs while most of them fail/)
  const steps = [0.1, 0.5].map((share) => ({ share, minDurationMs: 1_000 }))
  const move = (totalMs: number) => nextMove(verdict, { steps, step: 0, stepMs: totalMs, totalMs, stepJobs: 5, isFailing: true })
  assert.deepEqual([move(999), move(1_000), move(8_000)], ['stay', 'stay', 'pause'])
})

test('errors explain a judgement, and do not change it', () => {
  const evidence = seen({ jobs: 2, failed: 2 }, { jobs: 0 })
  const plain = judge(evidence, policyOf(), context)
  const error = { class: 'Error', message: 'broken', count: 3, example: '1' }
  const told = judge({ ...evidence, errors: { stable: [], canary: [error] } }, policyOf(), context)
  assert.deepEqual(told, { ...plain, errors: { stable: [], canary: [error] } })
})

test('evidence of several processes adds up to the same in any order, and stays plain JSON', () => {
  const attempt = fc.record<FirstAttempt>({
    step: fc.integer({ min: 0, max: 3 }),
    arm: fc.constantFrom('stable', 'canary'),
    stratum: fc.constantFrom('*', 'send', '__proto__', 'a/b', 'constructor'),
    bucket: fc.integer({ min: 0, max: 63 }),
    outcome: fc.constantFrom('ok', 'failed', 'lost'),
    slow: fc.constantFrom(true, false, undefined),
    at: fc.option(fc.integer({ min: 1, max: 99 }), { nil: undefined }),
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
      assert.ok(verdicts.includes(verdict))
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
