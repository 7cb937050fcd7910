import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Judgement, Verdict } from './judge/index.js'
import { isLive, mostTransitions, moved, shareNow, timesOf } from './machine.js'
import { nextAct, percentOf } from './next-act.js'
import { type CanaryRecord, type CanaryState, canaryStates } from './record.js'
import { startPlan } from './start-input.js'
import { canaryRecord } from './testing/record.js'
import { itself } from './transitions.js'

const second = 1_000
const pending = canaryRecord()
const { spec } = pending
const go = (record: CanaryRecord, to: CanaryState, at: number, more: object = {}) =>
  moved(record, { to, at, actor: itself, reason: 'because', ...more })

describe('the states of a canary', () => {
  it('change only as the table allows', () => {
    const allowed: Readonly<Record<CanaryState, readonly CanaryState[]>> = {
      PENDING: ['RUNNING', 'ROLLING_BACK', 'FAILED_TO_START'],
      RUNNING: ['RUNNING', 'PAUSED', 'PROMOTING', 'ROLLING_BACK'],
      PAUSED: ['RUNNING', 'PAUSED', 'PROMOTING', 'ROLLING_BACK'],
      PROMOTING: ['SUCCEEDED', 'PAUSED', 'ROLLING_BACK'],
      SUCCEEDED: [],
      ROLLING_BACK: ['ROLLED_BACK'],
      ROLLED_BACK: [],
      FAILED_TO_START: [],
    }
    for (const from of canaryStates) {
      for (const to of canaryStates) {
        const move = () => go({ ...pending, state: from }, to, 1)
        if (allowed[from].includes(to)) assert.equal(move().state, to, `${from} to ${to}`)
        else assert.throws(move, /cannot go from/, `${from} to ${to}`)
      }
      assert.equal(isLive({ state: from }), allowed[from].length > 0)
    }
  })

  it('count the time of a step without pauses, and give the share of the step', () => {
    const running = go(pending, 'RUNNING', 10 * second)
    assert.deepEqual([shareNow(pending), shareNow(running)], [0, 0.05])
    const paused = go(running, 'PAUSED', 14 * second, { pausedFor: 'manual' })
    assert.deepEqual([paused.pausedFor, shareNow(paused), timesOf(paused, 60 * second).stepMs], ['manual', 0.05, 4 * second])
    const resumed = go(paused, 'RUNNING', 60 * second)
    assert.deepEqual([resumed.pausedFor, timesOf(resumed, 61 * second)], [undefined, { stepMs: 5 * second, totalMs: 5 * second }])
    const next = go(resumed, 'RUNNING', 62 * second, { step: 1 })
    assert.deepEqual([shareNow(next), timesOf(next, 63 * second)], [0.2, { stepMs: second, totalMs: 7 * second }])
    const rolling = go(next, 'ROLLING_BACK', 70 * second)
    assert.deepEqual([shareNow(rolling), rolling.generation, rolling.endedAt], [0, 6, undefined])
    assert.equal(go(rolling, 'ROLLED_BACK', 71 * second).endedAt, 71 * second)
  })

  it('keep the errors of the last evaluation only, and excuse jobs of an outage on request', () => {
    const errors = { stable: [], canary: [{ class: 'Error', message: 'broken', count: 1, example: '1' }] }
    const judgement = { verdict: 'FAIL', errors } as unknown as Judgement
    const first = go(go(pending, 'RUNNING', 1), 'PAUSED', 2, { judgement, rule: 'canary/fast-path' })
    const second = go(go(first, 'RUNNING', 3, { excused: { stable: {}, canary: {} } }), 'PAUSED', 4, { judgement })
    assert.deepEqual(
      second.history.map(({ evidence, rule }) => [rule, evidence?.errors]),
      [
        [undefined, undefined],
        [undefined, undefined],
        ['canary/fast-path', undefined],
        [undefined, undefined],
        [undefined, errors],
      ],
    )
    assert.deepEqual(second.excused, { stable: {}, canary: {}, at: 3 })
  })

  it('keep a bounded history that includes its start', () => {
    let record = go(pending, 'RUNNING', 1)
    for (let at = 2; at < 2 * mostTransitions; at++) record = go(record, 'RUNNING', at)
    assert.deepEqual(
      [record.history.length, record.history[0]?.to, record.history.at(-1)?.at],
      [mostTransitions, 'PENDING', 2 * mostTransitions - 1],
    )
  })
})

describe('after an evaluation', () => {
  const judgement = (verdict: Verdict): Judgement => ({ verdict, rule: 'canary/sequential', reason: verdict }) as Judgement
  const running = go(pending, 'RUNNING', 0)
  const last = go(running, 'RUNNING', 0, { step: 1 })
  const seen = { now: 20 * second, stepJobs: 50, missing: [] }
  const act = (record: CanaryRecord, verdict: Verdict, more: object = {}) => {
    const found = nextAct(record, { ...seen, judgement: judgement(verdict), ...more })
    return 'pausedFor' in found ? `${found.kind} ${found.pausedFor}` : found.kind
  }
  const paused = go(running, 'PAUSED', 0, { pausedFor: 'manual' })
  const without = (record: CanaryRecord, more: object): CanaryRecord => ({ ...record, spec: { ...record.spec, ...more } })
  const gated = without(running, { steps: spec.steps.map((step) => ({ ...step, gate: true })) })

  const cases: readonly (readonly [string, string, string])[] = [
    ['goes to the next step when the current one is over', act(running, 'CONTINUE'), 'advance'],
    ['stays while the time of the step is not over', act(running, 'PASS', { now: 5 * second }), 'stay'],
    ['stays while the step has too few jobs', act(running, 'PASS', { stepJobs: 0 }), 'stay'],
    [
      'pauses for a person when the jobs never arrive',
      act(running, 'CONTINUE', { stepJobs: 0, now: 10 * 60 * second }),
      'pause inconclusive',
    ],
    ['promotes after the last step', act(last, 'PASS'), 'promote'],
    ['pauses for a person after the last step without a verdict', act(last, 'CONTINUE'), 'pause inconclusive'],
    [
      'does not promote automatically when autoComplete is false',
      act(without(last, { autoComplete: false }), 'PASS'),
      'pause awaiting-completion',
    ],
    ['stops at a gate', act(gated, 'CONTINUE'), 'pause gate'],
    ['rolls back', act(running, 'FAIL'), 'rollback'],
    ['rolls back while it is paused', act(paused, 'FAIL'), 'rollback'],
    ['pauses when autoRollback is false', act(without(running, { autoRollback: false }), 'FAIL'), 'pause regression-observed'],
    ['stays paused when autoRollback is false', act(without(paused, { autoRollback: false }), 'FAIL'), 'stay'],
    ['stays paused', act(paused, 'PASS'), 'stay'],
    ['is rolled back when nobody decides', act(paused, 'PASS', { now: spec.pauseTimeoutMs }), 'rollback'],
    [
      'is never rolled back when autoRollback is false, however long nobody decides',
      act(without(paused, { autoRollback: false }), 'CONTINUE', { now: 1_000 * spec.pauseTimeoutMs }),
      'stay',
    ],
    ['pauses when stable fails as much', act(running, 'OUTAGE'), 'pause inconclusive'],
    ['stays paused when stable fails as much', act(paused, 'OUTAGE'), 'stay'],
    ['pauses when it did not get its share of the jobs', act(running, 'SAMPLE_RATIO'), 'pause sample-ratio'],
    ['pauses when a node lacks the version', act(running, 'PASS', { missing: [{ node: 'n', error: 'gone' }] }), 'pause nodes-missing'],
  ]
  for (const [title, found, expected] of cases) it(`a canary ${title}`, () => assert.equal(found, expected))
})

describe('the steps of a request', () => {
  const stepsOf = (more: object) =>
    startPlan({ newVersion: '2.0.0', duration: 60_000, ...more }).spec.steps.map(({ minDurationMs, share }) => [
      percentOf(share),
      minDurationMs,
    ])
  for (const [request, expected] of [
    [{ trafficPercentage: 20 }, [1, 5, 10, 20]],
    [{ trafficPercentage: 100 }, [1, 5, 10, 25, 50, 100]],
    [{ trafficPercentage: 1 }, [1]],
    [{ trafficPercentage: 0.5 }, [0.5]],
    [{ steps: [5, 25] }, [5, 25]],
    [{ trafficPercentage: 50, steps: [5, 25] }, [5, 25, 50]],
  ] as const) {
    it(`are ${expected.join(', ')} % for ${JSON.stringify(request)}`, () => {
      assert.deepEqual(
        stepsOf(request),
        expected.map((percent) => [percent, 60_000 / expected.length]),
      )
    })
  }

  it('may have individual durations', () => {
    assert.deepEqual(stepsOf({ steps: [{ trafficPercentage: 5, duration: 100 }, 10] }), [
      [5, 100],
      [10, 30_000],
    ])
  })
})
