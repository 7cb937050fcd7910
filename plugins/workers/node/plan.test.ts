import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Goal, plan, type Seen, type Step } from './plan.js'

const goal = (run: boolean, generation = 2, restarts = 0, id = 'a'): Goal => ({ id, run, generation, restarts })
const seen = (state: Seen['state'], generation = 1, restarts = 0): Seen => ({ id: 'a', state, generation, restarts })

const rows: readonly (readonly [what: string, goal: Goal, seen: Seen | undefined, step: Step])[] = [
  ['it should run and was never seen', goal(true), undefined, 'start'],
  ['it should stop and was never seen', goal(false), undefined, 'none'],
  ['it should run and is stopped', goal(true), seen('stopped'), 'start'],
  ['it should run and FAILED before this change', goal(true), seen('FAILED'), 'start'],
  ['it should run and FAILED at this very change', goal(true), seen('FAILED', 2), 'none'],
  ['it should run and runs', goal(true), seen('running'), 'none'],
  ['a restart was asked for', goal(true, 2, 1), seen('running'), 'restart'],
  ['a restart was asked for and it is stopped', goal(true, 2, 1), seen('stopped'), 'start'],
  ['it should stop and runs', goal(false), seen('running'), 'stop'],
  ['it should stop and FAILED', goal(false), seen('FAILED'), 'stop'],
  ['it should stop and is stopped', goal(false), seen('stopped'), 'none'],
  ['the news is old', goal(false, 3), seen('running', 4), 'none'],
  ['it was removed and created again', goal(true, 1, 0, 'b'), seen('running', 9), 'restart'],
  ['it was removed and created again, stopped', goal(false, 1, 0, 'b'), seen('running', 9), 'stop'],
]

describe('the plan of a process for one worker', () => {
  for (const [what, to, from, step] of rows) {
    it(`is ${step} when ${what}`, () => assert.equal(plan(to, from), step))
  }
})
