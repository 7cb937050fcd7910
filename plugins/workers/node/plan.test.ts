import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Goal, plan, type Seen, type Step } from './plan.js'

const goal: Goal = {
  generation: 3,
  run: true,
  paused: false,
  starts: 1,
  restarts: 0,
  version: '1.0.0',
  activation: '1.0.0',
  concurrency: 5,
  consumerKey: 'queue',
}
const seen = (more: Partial<Seen> = {}): Seen => ({ ...goal, state: 'running', gaveUp: false, ...more })

describe('plan', () => {
  const rows: readonly (readonly [title: string, goal: Partial<Goal>, seen: Seen | undefined, steps: readonly Step[]])[] = [
    ['starts what should run', {}, undefined, ['start']],
    ['starts what should be paused with no step in which it takes jobs', { paused: true }, undefined, ['start']],
    ['leaves alone what runs as it should', { generation: 4 }, seen(), []],
    ['leaves alone what should not run and does not', { run: false }, seen({ state: 'stopped', run: false }), []],
    ['stops what should not run', { run: false, generation: 4 }, seen(), ['stop']],
    ['stops what is paused and should not run', { run: false, generation: 4 }, seen({ state: 'paused', paused: true }), ['stop']],
    ['stops what FAILED, so that it is no longer FAILED', { run: false, generation: 4 }, seen({ state: 'FAILED', gaveUp: true }), ['stop']],
    ['starts what was stopped', { generation: 4 }, seen({ state: 'stopped', run: false }), ['start']],
    ['restarts when asked', { restarts: 1, generation: 4 }, seen(), ['stop', 'start']],
    ['does not restart for a start', { starts: 2, generation: 4 }, seen(), []],
    ['restarts for another queue', { consumerKey: 'other', generation: 4 }, seen(), ['stop', 'start']],
    [
      'restarts what is paused with no step in which it takes jobs',
      { restarts: 1, paused: true, generation: 4 },
      seen(),
      ['stop', 'start'],
    ],
    ['leaves FAILED alone when something else changes', { concurrency: 9, generation: 4 }, seen({ state: 'FAILED', gaveUp: true }), []],
    ['starts FAILED again for a start', { starts: 2, generation: 4 }, seen({ state: 'FAILED', gaveUp: true }), ['start']],
    ['starts FAILED again for a restart', { restarts: 1, generation: 4 }, seen({ state: 'FAILED', gaveUp: true }), ['start']],
    ['starts FAILED again for an activation', { activation: '2.0.0', generation: 4 }, seen({ state: 'FAILED', gaveUp: true }), ['start']],
    ['leaves alone what waits for its next attempt', { concurrency: 9, generation: 4 }, seen({ state: 'starting', gaveUp: true }), []],
    [
      'stops what waits for its next attempt and should not run',
      { run: false, generation: 4 },
      seen({ state: 'starting', gaveUp: true }),
      ['stop'],
    ],
    ['leaves alone what a gate denied', { generation: 4 }, seen({ state: 'stopped', gaveUp: true }), []],
    ['changes the concurrency in place', { concurrency: 9, generation: 4 }, seen(), ['resize']],
    ['pauses', { paused: true, generation: 4 }, seen(), ['pause']],
    ['resumes', { generation: 4 }, seen({ state: 'paused', paused: true }), ['resume']],
    ['switches the version in place', { version: '2.0.0' }, seen(), ['switch']],
    [
      'switches, resizes and pauses at once',
      { version: '2.0.0', concurrency: 9, paused: true, generation: 4 },
      seen(),
      ['switch', 'resize', 'pause'],
    ],
    ['does not try a refused version again', { version: '2.0.0' }, seen({ refused: '1.0.0' }), []],
    [
      'does what else is asked while a version is refused',
      { version: '2.0.0', generation: 4, paused: true },
      seen({ refused: '1.0.0' }),
      ['pause'],
    ],
    [
      'tries a refused version again when it is activated anew',
      { version: '2.0.0', generation: 4, activation: '2.0.0 again' },
      seen({ refused: '2.0.0' }),
      ['switch'],
    ],
    ['ignores older news', { run: false, generation: 2 }, seen(), []],
  ]
  for (const [title, change, before, steps] of rows) {
    it(title, () => assert.deepEqual(plan({ ...goal, ...change }, before), steps))
  }
})
