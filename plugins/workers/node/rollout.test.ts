import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReportedStatus } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'
import { needsStatuses, versionFor } from './rollout.js'

const worker = { id: 'a', generation: 7, desired: { version: '2.0.0', previousVersion: '1.0.0' } } as StoredWorker
const halted = { ...worker, halted: { activation: '2.0.0 1', node: 'n1', code: 'VERSION_UNHEALTHY', message: 'no', at: 1 } }
const first = { ...worker, desired: { ...worker.desired, previousVersion: null } }
const status = (node: string, version: string | null, more: Partial<ReportedStatus> = {}): ReportedStatus =>
  ({ node, alive: true, workerId: 'a', version, state: version === null ? 'FAILED' : 'running', ...more }) as ReportedStatus
const order = ['n1', 'n2', 'n3']

describe('a rollout', () => {
  const rows: readonly (readonly [
    title: string,
    me: string,
    current: string | undefined,
    statuses: readonly ReportedStatus[],
    version: string,
  ])[] = [
    ['begins with the first process', 'n1', '1.0.0', [], '2.0.0'],
    ['lets the second wait for the first', 'n2', '1.0.0', [status('n1', '1.0.0')], '1.0.0'],
    ['goes on when the first has it', 'n2', '1.0.0', [status('n1', '2.0.0'), status('n3', '1.0.0')], '2.0.0'],
    ['lets the third wait for the second', 'n3', '1.0.0', [status('n1', '2.0.0'), status('n2', '1.0.0')], '1.0.0'],
    ['waits for a process that says nothing', 'n2', '1.0.0', [], '1.0.0'],
    ['waits for a process that is lost until the placement drops it', 'n2', '1.0.0', [status('n1', '2.0.0', { alive: false })], '1.0.0'],
    ['does not wait for a process in which the worker runs nothing', 'n2', '1.0.0', [status('n1', null)], '2.0.0'],
    ['does not count what was said of an earlier worker of the name', 'n2', '1.0.0', [status('n1', '2.0.0', { workerId: 'b' })], '1.0.0'],
    ['gives a process in which the worker FAILED the new version', 'n3', undefined, [status('n1', '1.0.0')], '2.0.0'],
    ['changes nothing where it has arrived', 'n3', '2.0.0', [status('n1', '1.0.0')], '2.0.0'],
  ]
  for (const [title, me, current, statuses, version] of rows) {
    it(title, () => assert.equal(versionFor(worker, { me, current, begins: false, order, statuses }), version))
  }

  for (const [title, stored, statuses, version] of [
    ['gives a process that begins meanwhile the version before', worker, [status('n1', '2.0.0'), status('n2', '1.0.0')], '1.0.0'],
    ['gives a process that begins afterwards the new version', worker, [status('n1', '2.0.0'), status('n2', '2.0.0')], '2.0.0'],
    ['gives a process that begins alone the new version', worker, [], '2.0.0'],
    ['gives a process the only version there is', first, [status('n1', '0.9.0')], '2.0.0'],
    ['gives a process that begins after it halted the version before', halted, [status('n1', '2.0.0')], '1.0.0'],
  ] as const) {
    it(title, () => assert.equal(versionFor(stored, { me: 'n3', current: undefined, begins: true, order, statuses }), version))
  }

  it('leaves every process as it is once it halted', () => {
    for (const current of ['1.0.0', '2.0.0']) {
      assert.equal(versionFor(halted, { me: 'n1', current, begins: false, order, statuses: [] }), current)
    }
  })

  it('asks what others say only where that decides', () => {
    const asks = (stored: StoredWorker, current: string | undefined, begins: boolean) => needsStatuses(stored, { current, begins })
    assert.deepEqual(
      [asks(worker, '1.0.0', false), asks(worker, undefined, true), asks(worker, '2.0.0', false), asks(worker, undefined, false)],
      [true, true, false, false],
    )
    assert.deepEqual([asks(halted, '1.0.0', false), asks(first, undefined, true)], [false, false])
  })
})
