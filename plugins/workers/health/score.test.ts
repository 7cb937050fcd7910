import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type HealthInputs, scoreOf, termsOf, wilsonLowerBound } from './score.js'

const well: HealthInputs = {
  failedState: false,
  completed: 100,
  failed: 0,
  lost: 0,
  failingChecks: [],
  nodes: 3,
  nodesDown: 0,
  oldestWaitingMs: 0,
  nobodyRuns: false,
  halted: undefined,
}

describe('the health score', () => {
  const rows: readonly (readonly [title: string, inputs: Partial<HealthInputs>, score: number, terms: readonly string[]])[] = [
    ['is 100 when nothing is wrong', {}, 100, []],
    ['is 100 before the first attempt', { completed: 0 }, 100, []],
    ['is 0 for a worker that FAILED, whatever else', { failedState: true, failingChecks: ['down'] }, 0, ['failed']],
    ['does not mind a few failures', { completed: 96, failed: 4 }, 100, []],
    ['does not judge by one attempt as by a hundred', { completed: 0, failed: 1 }, 90, ['failures']],
    ['falls far when everything fails', { completed: 0, failed: 1000 }, 40, ['failures']],
    ['minds jobs that are lost more than others', { completed: 0, failed: 1000, lost: 1000 }, 20, ['failures', 'lost']],
    ['minds a failing check', { failingChecks: ['no database'] }, 70, ['check']],
    ['minds lost processes by their share', { nodesDown: 1 }, 87, ['nodes']],
    ['is 0 when it should run and no living process runs it', { nobodyRuns: true, nodesDown: 3 }, 0, ['nodes']],
    ['minds a rollout that halted', { halted: 'not today' }, 90, ['rollout']],
    ['minds jobs that wait for longer than a minute', { oldestWaitingMs: 90_000 }, 90, ['queueAge']],
    [
      'is never below 0',
      { completed: 0, failed: 999, lost: 999, failingChecks: ['x'], nodesDown: 3, oldestWaitingMs: 1e9 },
      0,
      ['failures', 'lost', 'check', 'nodes', 'queueAge'],
    ],
  ]
  for (const [title, inputs, score, names] of rows) {
    it(title, () => {
      const terms = termsOf({ ...well, ...inputs })
      assert.deepEqual([scoreOf(terms), terms.map((term) => term.name)], [score, names])
      assert.ok(terms.every((term) => term.reason.length > 0))
    })
  }

  it('uses the lower bound of Wilson', () => {
    assert.equal(wilsonLowerBound(0, 0), 0)
    assert.equal(wilsonLowerBound(0, 10), 0)
    assert.ok(Math.abs(wilsonLowerBound(5, 10) - 0.2366) < 0.0001)
  })
})
