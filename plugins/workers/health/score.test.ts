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
  stuck: undefined,
  storeFault: undefined,
  oldestWaitingMs: 0,
  nobodyRuns: false,
  halted: undefined,
}

describe('the health score', () => {
  const rows: readonly (readonly [title: string, inputs: Partial<HealthInputs>, score: number, terms: readonly string[]])[] = [
    ['is 100 when nothing is wrong', {}, 100, []],
    ['is below 50 while it takes no jobs although jobs wait', { stuck: 'it takes none' }, 40, ['fetch']],
    ['is below 50 while its store cannot be written', { storeFault: 'the disk is full' }, 40, ['store']],
    ['is 100 before the first attempt', { completed: 0 }, 100, []],
    ['is 0 for a FAILED worker, whatever else is wrong', { failedState: true, failingChecks: ['down'] }, 0, ['failed']],
    ['tolerates a few failures', { completed: 96, failed: 4 }, 100, []],
    ['gives less weight to one attempt than to a hundred', { completed: 0, failed: 1 }, 90, ['failures']],
    ['falls far when everything fails', { completed: 0, failed: 1000 }, 40, ['failures']],
    ['falls further for lost jobs than for other failures', { completed: 0, failed: 1000, lost: 1000 }, 20, ['failures', 'lost']],
    ['falls for a failing check', { failingChecks: ['no database'] }, 70, ['check']],
    ['falls by the share of lost nodes', { nodesDown: 1 }, 87, ['nodes']],
    ['is 0 when the worker should run, but no live node runs it', { nobodyRuns: true, nodesDown: 3 }, 0, ['nodes']],
    ['falls for a halted rollout', { halted: 'not today' }, 90, ['rollout']],
    ['falls when jobs wait for longer than a minute', { oldestWaitingMs: 90_000 }, 90, ['queueAge']],
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

  it('uses the Wilson lower bound', () => {
    assert.equal(wilsonLowerBound(0, 0), 0)
    assert.equal(wilsonLowerBound(0, 10), 0)
    assert.ok(Math.abs(wilsonLowerBound(5, 10) - 0.2366) < 0.0001)
  })
})
