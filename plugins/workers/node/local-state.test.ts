import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StatusError, WorkerState } from '../shared/contract.js'
import type { DesiredState } from './desired-state.js'
import {
  afterEvent,
  awaitsStart,
  type Condition,
  errorOf,
  isRefused,
  isSuspended,
  type LocalEvent,
  type LocalState,
  needsHealthGate,
  newLocalState,
} from './local-state.js'

const desired: DesiredState = {
  generation: 3,
  run: true,
  paused: false,
  starts: 1,
  restarts: 0,
  version: '2.0.0',
  activation: '2.0.0 1',
  concurrency: 5,
  consumerKey: 'queue',
}
const error: StatusError = { code: 'CODE', message: 'why', status: 500, generation: 3 }
const report = { healthy: true, failures: 0, durationMs: 1, at: 1 }
const suspended: Condition = { type: 'suspended', reason: 'off', starts: 1, restarts: 0 }
const startFailed: Condition = { type: 'startFailed', error }
const unhealthy: Condition = { type: 'unhealthy', error }
const stepFailed: Condition = { type: 'stepFailed', error }
const stuck: Condition = { type: 'stuck', error }
const refused: Condition = { type: 'versionRefused', error: { ...error, version: '2.0.0' }, activation: '2.0.0 1' }

const events = {
  suspended,
  starting: { type: 'starting', desired: { ...desired, generation: 4 } },
  started: { type: 'started', version: '1.0.0' },
  startFailed: { type: 'startFailed', error, state: 'FAILED' },
  versionRefused: refused,
  versionChanged: { type: 'versionChanged' },
  paused: { type: 'paused' },
  resumed: { type: 'resumed' },
  stopping: { type: 'stopping' },
  stopped: { type: 'stopped' },
  unhealthy,
  stepFailed,
  stuck,
  unstuck: { type: 'unstuck' },
  checked: { type: 'checked', report },
  applied: { type: 'applied', desired: { ...desired, generation: 4 } },
} satisfies { readonly [Type in LocalEvent['type']]: Extract<LocalEvent, { readonly type: Type }> }

const at = (state: WorkerState | 'new', ...conditions: readonly Condition[]): LocalState =>
  state === 'new' ? { ...newLocalState, conditions } : { observed: { ...desired, state }, conditions, check: undefined }
/** State, generation and conditions. */
const seen = ({ observed, conditions }: LocalState) => [observed?.state ?? 'new', observed?.generation, conditions.map(({ type }) => type)]

describe('the state of a local worker', () => {
  const rows: readonly (readonly [
    title: string,
    before: LocalState,
    event: LocalEvent,
    after: readonly [state: WorkerState | 'new', generation: number | undefined, conditions: readonly Condition['type'][]],
  ])[] = [
    ['is suspended before its first step', at('new'), events.suspended, ['new', undefined, ['suspended']]],
    ['ends its suspension with a start', at('new', suspended), events.starting, ['starting', 0, []]],
    ['has not applied a start that begins', at('stopped'), events.starting, ['starting', 3, []]],
    ['has no error while it starts', at('FAILED', unhealthy, stepFailed, startFailed), events.starting, ['starting', 3, []]],
    ['keeps a refusal when it starts', at('stopped', refused), events.starting, ['starting', 3, ['versionRefused']]],
    ['runs once it has started', at('starting'), events.started, ['running', 3, []]],
    ['runs once a retry has succeeded', at('starting', startFailed), events.started, ['running', 3, []]],
    ['keeps a refusal when the previous version starts', at('starting', refused), events.started, ['running', 3, ['versionRefused']]],
    ['drops a refusal when its version starts', at('starting', refused), { type: 'started', version: '2.0.0' }, ['running', 3, []]],
    ['is FAILED when its start failed', at('starting'), events.startFailed, ['FAILED', 3, ['startFailed']]],
    [
      'stays starting until the next retry',
      at('starting', startFailed),
      { ...events.startFailed, state: 'starting' },
      ['starting', 3, ['startFailed']],
    ],
    ['is stopped when its start was denied', at('starting'), { ...events.startFailed, state: 'stopped' }, ['stopped', 3, ['startFailed']]],
    [
      'keeps running when it has refused a version',
      at('running', stepFailed),
      events.versionRefused,
      ['running', 3, ['stepFailed', 'versionRefused']],
    ],
    ['keeps running while it is stuck', at('running'), events.stuck, ['running', 3, ['stuck']]],
    ['is no longer stuck once it takes jobs', at('running', stuck, refused), events.unstuck, ['running', 3, ['versionRefused']]],
    ['stays stuck when its version changes', at('running', stuck), events.versionChanged, ['running', 3, ['stuck']]],
    ['is no longer stuck once it has stopped', at('stopping', stuck), events.stopped, ['stopped', 3, []]],
    ['has no error once its version changed', at('running', refused, stepFailed), events.versionChanged, ['running', 3, []]],
    ['pauses', at('running'), events.paused, ['paused', 3, []]],
    ['resumes', at('paused'), events.resumed, ['running', 3, []]],
    ['shows its errors until it has stopped', at('running', stepFailed), events.stopping, ['stopping', 3, ['stepFailed']]],
    [
      'drops its errors, not its refusal, once it has stopped',
      at('stopping', refused, stepFailed),
      events.stopped,
      ['stopped', 3, ['versionRefused']],
    ],
    ['stays new when it is closed before its first step', at('new', suspended), events.stopped, ['new', undefined, ['suspended']]],
    ['is FAILED when it is unhealthy', at('stopped'), events.unhealthy, ['FAILED', 3, ['unhealthy']]],
    ['keeps its state when a step failed', at('paused'), events.stepFailed, ['paused', 3, ['stepFailed']]],
    ['is stopped after its first step when it should not run', at('new', suspended), events.applied, ['stopped', 4, ['suspended']]],
    ['has applied a generation when its steps have ended', at('running', refused), events.applied, ['running', 4, ['versionRefused']]],
    [
      'drops a refusal with the next activation',
      at('running', refused),
      { type: 'applied', desired: { ...desired, activation: '2.0.0 2' } },
      ['running', 3, []],
    ],
  ]
  for (const [title, before, event, after] of rows) it(title, () => assert.deepEqual(seen(afterEvent(before, event)), after))

  it('starts paused when it should be paused', () => {
    const starting = afterEvent(at('stopped'), { type: 'starting', desired: { ...desired, paused: true } })
    assert.equal(afterEvent(starting, events.started).observed?.state, 'paused')
  })

  it('has at most one condition of each type, with the latest error', () => {
    const { conditions } = afterEvent(at('running', stepFailed), { ...stepFailed, error: { ...error, message: 'later' } })
    assert.deepEqual(
      conditions.map((one) => 'error' in one && one.error.message),
      ['later'],
    )
  })

  it('keeps its last check until it starts again', () => {
    const checked = afterEvent(at('stopped'), events.checked)
    assert.equal(checked.check, report)
    assert.equal(afterEvent(checked, events.starting).check, undefined)
  })
})

describe('the events of a local worker', () => {
  const every: readonly (WorkerState | 'new')[] = ['new', 'stopped', 'starting', 'running', 'paused', 'stopping', 'FAILED']
  const allowed: Readonly<Record<LocalEvent['type'], readonly (WorkerState | 'new')[]>> = {
    suspended: ['new'],
    starting: ['new', 'stopped', 'starting', 'FAILED'],
    started: ['starting', 'FAILED'],
    startFailed: ['starting', 'FAILED'],
    versionRefused: ['starting', 'FAILED', 'running', 'paused'],
    versionChanged: ['running', 'paused'],
    paused: ['running', 'paused'],
    resumed: ['running', 'paused'],
    stopping: ['starting', 'running', 'paused', 'stopping'],
    stopped: every,
    unhealthy: ['stopped'],
    stepFailed: every,
    stuck: ['running'],
    unstuck: every,
    checked: every,
    applied: every,
  }
  for (const [type, event] of Object.entries(events)) {
    it(`"${type}" occurs only in its states`, () => {
      for (const state of every) {
        const happens = () => afterEvent(at(state), event)
        if (allowed[event.type].includes(state)) assert.doesNotThrow(happens, state)
        else assert.throws(happens, new RegExp(`that is ${state} cannot have the event "${type}"`))
      }
    })
  }
})

describe('the conditions of a local worker', () => {
  it('suspend it until its starts or restarts increase', () => {
    const ask = (starts: number, restarts: number) => isSuspended(at('new', suspended), { starts, restarts })
    assert.deepEqual([ask(1, 0), ask(2, 0), ask(1, 1)], [true, false, false])
    assert.equal(isSuspended(at('new'), { starts: 1, restarts: 0 }), false)
  })

  it('make it wait for a start after a failed start or when it is unhealthy', () => {
    assert.deepEqual(
      [startFailed, unhealthy, stepFailed, refused, suspended].map((one) => awaitsStart(at('FAILED', one))),
      [true, true, false, false, false],
    )
  })

  it('refuse a version for one activation', () => {
    assert.deepEqual([isRefused(at('running', refused), '2.0.0 1'), isRefused(at('running', refused), '2.0.0 2')], [true, false])
  })

  it('require the health gate for a version that replaces another one or was refused', () => {
    const version = (activation: string, next: string) => ({ activation, version: next })
    assert.equal(needsHealthGate(at('new'), version('1', '1.0.0')), false)
    assert.equal(needsHealthGate(at('new'), version('1', '1.0.0'), true), true)
    assert.equal(needsHealthGate(at('running'), version('1', '1.0.0')), true)
    assert.equal(needsHealthGate(at('running'), version('1', '2.0.0')), false)
    assert.equal(needsHealthGate(at('stopped', refused), version('2.0.0 1', '2.0.0')), true)
  })

  it('expose the newest error, and a refusal only while another version runs', () => {
    const later: Condition = { type: 'stepFailed', error: { ...error, message: 'later' } }
    assert.equal(errorOf(at('running', refused, later))?.message, 'later')
    assert.equal(errorOf(at('running', later, refused))?.version, '2.0.0')
    assert.equal(errorOf(at('starting', startFailed, refused)), error)
    assert.equal(errorOf(at('stopped', refused)), undefined)
    assert.equal(errorOf(at('new', suspended)), undefined)
  })
})
