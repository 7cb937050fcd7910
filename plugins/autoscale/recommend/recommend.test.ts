import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type PolicyInput, policyOf } from './policy.js'
import { type PastEvaluation, recommend, type ScalingLimits, type ScalingRule, type Signals } from './recommend.js'

const at = Date.UTC(2026, 0, 1)
const limits: ScalingLimits = { minWorkers: 1, maxWorkers: 10, scaleUpThreshold: 100, scaleDownThreshold: 10 }
const input: PolicyInput = { drainSeconds: 60, stabilizationSeconds: 300, costOptimization: false, spotInstances: false, graceSeconds: 30 }
/** Idle, with two workers of five jobs. */
const idle: Signals = {
  at,
  attempts: 0,
  windowSeconds: 300,
  runSeconds: 0,
  longestSeconds: null,
  backlog: 0,
  active: 0,
  activeSeconds: 0,
  oldestSeconds: 0,
  queueAgeSeconds: 0,
  concurrency: 5,
  current: 2,
  nodes: 2,
  canary: false,
}
/** The given number of one-second jobs per second. */
const rate = (perSecond: number): Partial<Signals> => ({ attempts: perSecond * 300, runSeconds: 1, longestSeconds: 1 })
/** Evaluations every 30 s for the last ten minutes that needed the given number of workers. */
const needed = (count: number, last = count): readonly PastEvaluation[] =>
  Array.from({ length: 20 }, (_, index) => ({
    at: at - (20 - index) * 30_000,
    backlog: 0,
    runSeconds: 1,
    needed: index === 19 ? last : count,
    desired: count,
    asked: 2,
    target: count,
    nodes: 2,
    longest: { seconds: 1, at: at - 30_000 },
  }))
const calm = needed(1)

type Case = readonly [
  title: string,
  signals: Partial<Signals>,
  desired: number,
  rule: ScalingRule,
  history?: readonly PastEvaluation[],
  limits?: Partial<ScalingLimits>,
]
const cases: readonly Case[] = [
  ['keeps workers that are needed', { ...rate(6) }, 2, 'steady', needed(2)],
  ['adds for the rate of jobs, at 75 % utilization', { ...rate(11) }, 3, 'load', needed(2)],
  ['at most doubles the number of workers', { ...rate(30) }, 4, 'load', needed(2)],
  ['never adds beyond maxWorkers', { ...rate(1000), current: 8 }, 10, 'load', needed(8)],
  ['adds when more jobs wait than scaleUpThreshold', { ...rate(1), backlog: 101, queueAgeSeconds: 5 }, 3, 'backlog', calm],
  ['keeps its number at scaleUpThreshold', { ...rate(1), backlog: 100, queueAgeSeconds: 5 }, 2, 'steady', needed(2)],
  ['adds for a low scaleUpThreshold', { ...rate(1), backlog: 20, queueAgeSeconds: 5 }, 3, 'backlog', calm, { scaleUpThreshold: 19 }],
  ['adds when the oldest job waits too long', { ...rate(1), backlog: 1, queueAgeSeconds: 61 }, 3, 'queue-age', calm],
  ['adds without knowing run times', { backlog: 5000, queueAgeSeconds: 5 }, 3, 'backlog', []],
  ['ignores a change of less than a tenth', { ...rate(36), current: 10, backlog: 0 }, 10, 'steady', needed(10), { maxWorkers: 20 }],
  ['removes workers that were not needed for five minutes', { ...rate(1) }, 1, 'load', calm],
  ['removes at most a quarter', { ...rate(1), current: 8 }, 6, 'load', calm],
  ['removes nothing below the highest need of five minutes', { ...rate(1), current: 8 }, 7, 'load', needed(1, 7)],
  ['removes nothing when all were needed recently', { ...rate(1) }, 2, 'stabilization', needed(1, 2)],
  ['removes nothing before it has observed the load for five minutes', { ...rate(1) }, 2, 'stabilization', []],
  ['removes nothing while more jobs wait than scaleDownThreshold', { ...rate(1), backlog: 11, queueAgeSeconds: 1 }, 2, 'steady', calm],
  [
    'removes with a high scaleDownThreshold',
    { ...rate(1), backlog: 11, queueAgeSeconds: 1 },
    1,
    'load',
    calm.map((past) => ({ ...past, backlog: 11 })),
    { scaleDownThreshold: 11 },
  ],
  ['removes nothing during a canary', { ...rate(1), canary: true }, 2, 'canary', calm],
  ['adds during a canary', { ...rate(30), canary: true }, 4, 'load', needed(2)],
  ['never removes below minWorkers', { current: 3 }, 3, 'steady', calm, { minWorkers: 3 }],
  ['goes up to minWorkers immediately', { current: 1 }, 5, 'limits', [], { minWorkers: 5 }],
  ['goes down to maxWorkers by a quarter at a time, without waiting', { current: 8 }, 6, 'limits', [], { maxWorkers: 3 }],
  ['goes down to maxWorkers even under load', { ...rate(1000), current: 4, backlog: 900 }, 3, 'limits', [], { maxWorkers: 3 }],
  ['removes nothing while all workers have a job', { active: 6 }, 2, 'running', calm],
  ['removes what no running job needs', { active: 5 }, 1, 'load', calm],
  ['removes nothing when the running jobs could not be read', { active: null }, 2, 'running', calm],
  [
    'removes nothing above maxWorkers when the running jobs could not be read',
    { current: 8, active: null },
    8,
    'running',
    [],
    { maxWorkers: 3 },
  ],
  ['adds when the running jobs could not be read', { ...rate(30), active: null }, 4, 'load', needed(2)],
  ['counts the time of running jobs as work', { active: 15, activeSeconds: 4500, oldestSeconds: 1000, current: 3 }, 3, 'steady', calm],
  [
    'adds a slot for each waiting job when jobs are long',
    { active: 10, activeSeconds: 3000, oldestSeconds: 1000, backlog: 6 },
    4,
    'load',
    calm,
  ],
  ['adds no more slots than jobs wait', { attempts: 10, runSeconds: 200, longestSeconds: 200, backlog: 5, current: 1 }, 2, 'load', calm],
  ['goes down to maxWorkers while jobs run, because they continue', { active: 40, current: 8 }, 6, 'limits', [], { maxWorkers: 3 }],
  ['stays above maxWorkers during a canary', { current: 8, canary: true }, 8, 'canary', [], { maxWorkers: 3 }],
]

describe('the recommended number of workers', () => {
  for (const [title, signals, desired, rule, history = [], more = {}] of cases) {
    it(title, () => {
      const found = recommend({ ...idle, ...signals }, { ...limits, ...more }, policyOf(input), history)
      assert.deepEqual([found.target, found.rule], [desired, rule], found.reason)
      assert.ok(found.reason.length > 0 && found.reason.length <= 500)
    })
  }

  const kept: readonly (readonly [title: string, signals: Partial<Signals>, desired: number, history?: readonly PastEvaluation[]])[] = [
    ['falls with the target while nothing runs', {}, 1],
    ['stays while a job has run for longer than an ending process has', { active: 1, activeSeconds: 31, oldestSeconds: 31 }, 2],
    [
      'stays while anything runs and jobs are known to be long',
      { active: 1 },
      2,
      calm.map((past) => ({ ...past, longest: { seconds: 31, at } })),
    ],
    ['stays while anything runs and nothing is known of run times', { active: 1 }, 2, calm.map((past) => ({ ...past, longest: null }))],
    ['stays while it is not known what runs', { active: null }, 2],
    ['falls to what runs when all jobs end in time', { active: 1, oldestSeconds: 30 }, 1],
    [
      'forgets long jobs after a day',
      { active: 1, attempts: 1, runSeconds: 1, longestSeconds: 1 },
      1,
      calm.map((past) => ({ ...past, longest: { seconds: 31, at: at - 86_400_001 } })),
    ],
    [
      'counts processes that were asked for and are not removed yet',
      { active: 1, oldestSeconds: 31, current: 1, nodes: 4 },
      4,
      [...calm.slice(0, -1), ...calm.slice(-1).map((past) => ({ ...past, asked: 4 }))],
    ],
    ['does not count processes that it never asked for', { active: 1, oldestSeconds: 31, current: 1, nodes: 9 }, 2],
    ['counts all processes at the first evaluation', { active: 1, oldestSeconds: 31, current: 1, nodes: 9 }, 9, []],
  ]
  for (const [title, signals, desired, history = calm] of kept) {
    it(`asked from the platform ${title}`, () => {
      const found = recommend({ ...idle, ...signals }, limits, policyOf(input), history)
      assert.equal(found.desired, desired, found.reason)
      assert.ok(found.desired === found.target || /so no process should end|which need/.test(found.reason), found.reason)
    })
  }

  it('counts a growing backlog as arriving jobs', () => {
    const before = needed(1).filter((past) => past.at === at - 90_000)
    const { needed: workers, reason } = recommend(
      { ...idle, ...rate(1), backlog: 100, queueAgeSeconds: 1 },
      limits,
      policyOf(input),
      before,
    )
    // 2.1 jobs a second of one second need 2.8 slots, and 100 within a minute 1.67.
    assert.equal(workers, 1)
    assert.equal(
      reason,
      '100 jobs are waiting (more than 10), the oldest for 1 s, so no workers are removed; 2.1 new jobs/s and the backlog, at 1 s per job, need 1 worker',
    )
  })

  it('does not mention or act on an age that could not be read', () => {
    const found = recommend({ ...idle, ...rate(1), backlog: 100, queueAgeSeconds: null }, limits, policyOf(input), needed(2))
    assert.deepEqual([found.rule, found.target], ['steady', 2])
    assert.match(found.reason, /^100 jobs are waiting \(more than 10\), so no workers are removed; |^100 jobs are waiting; /)
  })

  const drained: Partial<Signals> = { ...rate(10), backlog: 90, queueAgeSeconds: 70, current: 1 }
  const policies: readonly (readonly [
    title: string,
    changed: Partial<PolicyInput>,
    signals: Partial<Signals>,
    desired: readonly [number, number],
  ])[] = [
    ['a shorter drainSeconds needs more', { drainSeconds: 10 }, { ...drained, queueAgeSeconds: 1, current: 3 }, [4, 5]],
    ['cost optimization runs workers busier', { costOptimization: true }, { ...rate(33), current: 8 }, [9, 8]],
    ['cost optimization lets jobs wait longer', { costOptimization: true }, { ...rate(1), backlog: 1, queueAgeSeconds: 100 }, [3, 2]],
    ['spot instances keep enough for the loss of a process', { spotInstances: true }, { ...rate(6) }, [2, 3]],
  ]
  for (const [title, changed, signals, [without, withIt]] of policies) {
    it(title, () => {
      const of = (given: PolicyInput) =>
        recommend(
          { ...idle, ...signals },
          limits,
          policyOf(given),
          needed(10).map((past) => ({ ...past, backlog: signals.backlog ?? 0 })),
        ).target
      assert.deepEqual([of(input), of({ ...input, ...changed })], [without, withIt])
    })
  }

  it('returns sooner with cost optimization and with a shorter stabilizationSeconds', () => {
    // Ten were needed until 180 s ago.
    const past = needed(1).map((one) => ({ ...one, needed: one.at < at - 180_000 ? 10 : 1 }))
    const of = (given: PolicyInput) => recommend({ ...idle, ...rate(1), current: 8 }, limits, policyOf(given), past).target
    assert.deepEqual([of(input), of({ ...input, costOptimization: true }), of({ ...input, stabilizationSeconds: 100 })], [8, 6, 6])
  })
})
