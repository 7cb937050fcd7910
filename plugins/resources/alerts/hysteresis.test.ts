import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AlertState, type Levels, nextAlertState, quiet } from './hysteresis.js'

const levels: Levels = { raiseAbove: 0.9, raiseAfterMs: 120, clearBelow: 0.8, clearAfterMs: 60 }
const step = 30

/** The alert is active (#) or not (.) after each value, 30 ms apart. */
function run(values: readonly (number | null)[], given = levels): string {
  let state: AlertState = quiet
  return values
    .map((value, index) => {
      state = nextAlertState(state, value, index * step, given)
      return state.active ? '#' : '.'
    })
    .join('')
}

const cases: readonly (readonly [title: string, values: readonly (number | null)[], states: string])[] = [
  ['stays quiet below the level', [0.1, 0.5, 0.9, 0.9, 0.9, 0.9], '......'],
  ['is raised after the whole time above', [1, 1, 1, 1, 1, 1], '....##'],
  ['starts to count again after one value below', [1, 1, 1, 1, 0.5, 1, 1, 1, 1, 1], '.........#'],
  ['stays active between the two levels', [1, 1, 1, 1, 1, 0.85, 0.85, 0.85, 0.85], '....#####'],
  ['is cleared after the whole time below', [1, 1, 1, 1, 1, 0.5, 0.5, 0.5], '....###.'],
  ['does not clear when the value comes back in time', [1, 1, 1, 1, 1, 0.5, 0.5, 1, 0.5, 0.5, 0.5], '....######.'],
  ['does not flap around the level', [1, 1, 1, 1, 1, 0.89, 0.91, 0.89, 0.91, 0.89], '....######'],
  ['neither raises nor clears without values', [1, 1, 1, null, 1, 1, 1, 1, 1, 0.5, null, 0.5, 0.5, 0.5], '........#####.'],
]

describe('an alert with hysteresis', () => {
  for (const [title, values, states] of cases) it(title, () => assert.equal(run(values), states))

  it('is raised immediately with raiseAfterMs 0', () => {
    assert.equal(run([1, 0.5], { ...levels, raiseAfterMs: 0, clearAfterMs: 0 }), '#.')
  })
})
