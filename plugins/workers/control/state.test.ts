import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReportedStatus, WorkerState } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'
import { stateOf, versionOf } from './state.js'

const worker = (state: 'running' | 'stopped') => ({ id: 'a', desired: { state } }) as StoredWorker
const on = (state: WorkerState, more: Partial<ReportedStatus> = {}): ReportedStatus =>
  ({ workerId: 'a', alive: true, placed: true, state, ...more }) as ReportedStatus
const lost = { alive: false }

describe('the state of a worker', () => {
  const rows: readonly (readonly [
    title: string,
    desired: 'running' | 'stopped',
    statuses: readonly ReportedStatus[],
    state: WorkerState,
  ])[] = [
    ['is running when it runs on any node', 'running', [on('FAILED'), on('running'), on('starting')], 'running'],
    ['is paused when it runs on no node', 'running', [on('paused'), on('FAILED')], 'paused'],
    ['is starting', 'running', [on('starting'), on('stopped')], 'starting'],
    ['is FAILED when it runs on no node', 'running', [on('FAILED'), on('stopped')], 'FAILED'],
    ['is stopped when nodes suspend it', 'running', [on('stopped')], 'stopped'],
    ['is unknown when no node has reported', 'running', [], 'unknown'],
    ['is unknown when only unassigned nodes have reported', 'running', [on('stopped', { placed: false })], 'unknown'],
    ['is running while an unassigned node still runs it', 'running', [on('running', { placed: false })], 'running'],
    ['is unknown when the nodes that ran it are lost', 'running', [on('running', lost)], 'unknown'],
    ['is stopped when it should not run and no node has reported', 'stopped', [], 'stopped'],
    ['is stopping until all have stopped', 'stopped', [on('stopped'), on('running')], 'stopping'],
    ['is stopped when all have', 'stopped', [on('stopped'), on('stopped'), on('running', lost)], 'stopped'],
    ['ignores an earlier worker with the same name', 'stopped', [on('running', { workerId: 'b' })], 'stopped'],
  ]
  for (const [title, desired, statuses, state] of rows) {
    it(title, () => assert.equal(stateOf(worker(desired), statuses), state))
  }
})

describe('the version of a worker', () => {
  const versions = [{ version: '1.0.0' }, { version: '2.0.0', activatedAt: 7 }]
  const desired = { state: 'running', version: '2.0.0', previousVersion: '1.0.0' }
  const stored = (more: object) => ({ id: 'a', desired, versions, ...more }) as unknown as StoredWorker
  const halted = { halted: { activation: '2.0.0 7' } }
  for (const [title, more, statuses, version] of [
    ['is the desired one when no node runs it', {}, [], '2.0.0'],
    ['is the previous one when its rollout halted and no node runs it', halted, [], '1.0.0'],
    ['is the previous one when its rollout halted and the node that ran it drains', halted, [on('stopped', { version: null })], '1.0.0'],
    ['is the desired one when its rollout halted after a node took it', halted, [on('running', { version: '2.0.0' })], '2.0.0'],
    ['is the desired one when an earlier rollout halted', { halted: { activation: '2.0.0 3' } }, [], '2.0.0'],
  ] as const) {
    it(title, () => assert.equal(versionOf(stored(more), statuses), version))
  }
})
