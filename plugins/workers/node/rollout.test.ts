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
    ['begins with the first node', 'n1', '1.0.0', [], '2.0.0'],
    ['makes the second node wait for the first', 'n2', '1.0.0', [status('n1', '1.0.0')], '1.0.0'],
    ['continues once the first node runs the version', 'n2', '1.0.0', [status('n1', '2.0.0'), status('n3', '1.0.0')], '2.0.0'],
    ['makes the third node wait for the second', 'n3', '1.0.0', [status('n1', '2.0.0'), status('n2', '1.0.0')], '1.0.0'],
    ['waits for a node without a status', 'n2', '1.0.0', [], '1.0.0'],
    ['waits for a lost node until the placement drops it', 'n2', '1.0.0', [status('n1', '2.0.0', { alive: false })], '1.0.0'],
    ['does not wait for a node that runs no version', 'n2', '1.0.0', [status('n1', null)], '2.0.0'],
    ['ignores statuses of an earlier worker with the same name', 'n2', '1.0.0', [status('n1', '2.0.0', { workerId: 'b' })], '1.0.0'],
    ['gives the new version to a node on which the worker FAILED', 'n3', undefined, [status('n1', '1.0.0')], '2.0.0'],
    ['changes nothing on a node that runs the version', 'n3', '2.0.0', [status('n1', '1.0.0')], '2.0.0'],
  ]
  for (const [title, me, current, statuses, version] of rows) {
    it(title, () => assert.equal(versionFor(worker, { me, current, begins: false, order, statuses }), version))
  }

  for (const [title, stored, statuses, version] of [
    [
      'gives the previous version to a node that starts during the rollout',
      worker,
      [status('n1', '2.0.0'), status('n2', '1.0.0')],
      '1.0.0',
    ],
    ['gives the new version to a node that starts after the rollout', worker, [status('n1', '2.0.0'), status('n2', '2.0.0')], '2.0.0'],
    ['gives the new version to a node that starts alone', worker, [], '2.0.0'],
    ['gives the only version to a node that starts', first, [status('n1', '0.9.0')], '2.0.0'],
    ['gives the previous version to a node that starts after the rollout was halted', halted, [status('n1', '2.0.0')], '1.0.0'],
  ] as const) {
    it(title, () => assert.equal(versionFor(stored, { me: 'n3', current: undefined, begins: true, order, statuses }), version))
  }

  it('changes nothing once it is halted', () => {
    for (const current of ['1.0.0', '2.0.0']) {
      assert.equal(versionFor(halted, { me: 'n1', current, begins: false, order, statuses: [] }), current)
    }
  })

  it('needs the statuses of other nodes only where they matter', () => {
    const asks = (stored: StoredWorker, current: string | undefined, begins: boolean) => needsStatuses(stored, { current, begins })
    assert.deepEqual(
      [asks(worker, '1.0.0', false), asks(worker, undefined, true), asks(worker, '2.0.0', false), asks(worker, undefined, false)],
      [true, true, false, false],
    )
    assert.deepEqual([asks(halted, '1.0.0', false), asks(first, undefined, true)], [false, false])
  })
})
