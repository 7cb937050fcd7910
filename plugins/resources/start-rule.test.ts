import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type OperatorChoice, shouldRun } from './start-rule.js'

const cases: readonly (readonly [enabled: boolean, operator: OperatorChoice, wanted: boolean, run: boolean])[] = [
  [true, undefined, true, true],
  [true, undefined, false, false],
  [true, 'started', false, true],
  [true, 'started', true, true],
  [true, 'stopped', true, false],
  [true, 'stopped', false, false],
  [false, undefined, true, false],
  [false, 'started', true, false],
  [false, 'started', false, false],
  [false, 'stopped', false, false],
]

describe('resource monitoring', () => {
  for (const [enabled, operator, wanted, run] of cases) {
    const title = `${run ? 'runs' : 'does not run'} with WORKER_RESOURCE_MONITORING=${enabled}, ${operator ?? 'untouched'} by an operator, and ${wanted ? 'a' : 'no'} worker that wants it`
    it(title, () => assert.equal(shouldRun({ enabled, operator, wanted }).run, run))
  }
})
