import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReportedStatus } from '../cluster/cluster.js'
import type { StoredWorker } from '../store/store.js'
import { versionToRun } from './rollout.js'

const worker = { id: 'a', desired: { version: '2.0.0' } } as StoredWorker
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
    ['gives the new version to a process that begins', 'n3', undefined, [status('n1', '1.0.0')], '2.0.0'],
    ['changes nothing where it has arrived', 'n3', '2.0.0', [status('n1', '1.0.0')], '2.0.0'],
  ]
  for (const [title, me, current, statuses, version] of rows) {
    it(title, () => assert.equal(versionToRun(worker, me, current, order, statuses), version))
  }
})
