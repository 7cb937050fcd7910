import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WorkerState } from '../shared/contract.js'
import type { DesiredState } from './desired-state.js'
import type { Condition, LocalState } from './local-state.js'
import { plan, type Step } from './plan.js'

const desired: DesiredState = {
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
const error = { code: 'CODE', message: 'why', status: 500 }
const failed: Condition = { type: 'startFailed', error }
const refused = (activation: string): Condition => ({ type: 'versionRefused', error, activation })
const local = (state: WorkerState, more: Partial<DesiredState> = {}, ...conditions: readonly Condition[]): LocalState => ({
  observed: { ...desired, ...more, state },
  conditions,
  check: undefined,
})
const fresh: LocalState = { observed: undefined, conditions: [], check: undefined }

describe('plan', () => {
  const rows: readonly (readonly [title: string, change: Partial<DesiredState>, before: LocalState, steps: readonly Step[]])[] = [
    ['starts a worker that should run', {}, fresh, ['start']],
    ['starts a worker that should be paused without a step in which it takes jobs', { paused: true }, fresh, ['start']],
    ['does nothing when the worker runs as it should', { generation: 4 }, local('running'), []],
    ['does nothing when the worker should not run and does not', { run: false }, local('stopped', { run: false }), []],
    ['stops a worker that should not run', { run: false, generation: 4 }, local('running'), ['stop']],
    ['stops a paused worker that should not run', { run: false, generation: 4 }, local('paused', { paused: true }), ['stop']],
    ['stops a FAILED worker, so that it is no longer FAILED', { run: false, generation: 4 }, local('FAILED', {}, failed), ['stop']],
    ['starts a stopped worker', { generation: 4 }, local('stopped', { run: false }), ['start']],
    ['restarts on request', { restarts: 1, generation: 4 }, local('running'), ['stop', 'start']],
    ['does not restart for a start', { starts: 2, generation: 4 }, local('running'), []],
    ['restarts for another queue', { consumerKey: 'other', generation: 4 }, local('running'), ['stop', 'start']],
    [
      'restarts a paused worker without a step in which it takes jobs',
      { restarts: 1, paused: true, generation: 4 },
      local('running'),
      ['stop', 'start'],
    ],
    ['leaves a FAILED worker alone when something else changes', { concurrency: 9, generation: 4 }, local('FAILED', {}, failed), []],
    ['starts a FAILED worker again for a start', { starts: 2, generation: 4 }, local('FAILED', {}, failed), ['start']],
    ['starts a FAILED worker again for a restart', { restarts: 1, generation: 4 }, local('FAILED', {}, failed), ['start']],
    ['starts a FAILED worker again for an activation', { activation: '2.0.0', generation: 4 }, local('FAILED', {}, failed), ['start']],
    ['leaves a worker alone that waits for a retry', { concurrency: 9, generation: 4 }, local('starting', {}, failed), []],
    ['stops a worker that waits for a retry and should not run', { run: false, generation: 4 }, local('starting', {}, failed), ['stop']],
    ['leaves a worker alone whose start was denied', { generation: 4 }, local('stopped', {}, failed), []],
    ['changes the concurrency in place', { concurrency: 9, generation: 4 }, local('running'), ['resize']],
    ['pauses', { paused: true, generation: 4 }, local('running'), ['pause']],
    ['resumes', { generation: 4 }, local('paused', { paused: true }), ['resume']],
    ['switches the version in place', { version: '2.0.0' }, local('running'), ['switch']],
    [
      'pauses before it switches and resizes',
      { version: '2.0.0', concurrency: 9, paused: true, generation: 4 },
      local('running'),
      ['pause', 'switch', 'resize'],
    ],
    ['does not retry a refused version', { version: '2.0.0' }, local('running', {}, refused('1.0.0')), []],
    [
      'applies other changes while a version is refused',
      { version: '2.0.0', generation: 4, paused: true },
      local('running', {}, refused('1.0.0')),
      ['pause'],
    ],
    [
      'retries a refused version when it is activated again',
      { version: '2.0.0', generation: 4, activation: '2.0.0 again' },
      local('running', {}, refused('2.0.0')),
      ['switch'],
    ],
    ['ignores an older generation', { run: false, generation: 2 }, local('running'), []],
    [
      'leaves an unhealthy worker alone when something else changes',
      { concurrency: 9 },
      local('FAILED', {}, { type: 'unhealthy', error }),
      [],
    ],
    ['starts an unhealthy worker again for a restart', { restarts: 1 }, local('FAILED', {}, { type: 'unhealthy', error }), ['start']],
  ]
  for (const [title, change, before, steps] of rows) {
    it(title, () => assert.deepEqual(plan({ ...desired, ...change }, before), steps))
  }
})
