import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReportedStatus } from '../cluster/cluster.js'
import type { StoredWorker } from '../store/store.js'
import { type Turn, turnOf } from './rollout.js'

const worker = { id: 'a', generation: 7, desired: { version: '2.0.0' } } as StoredWorker
const status = (node: string, version: string | null, more: Partial<ReportedStatus> = {}): ReportedStatus =>
  ({ node, alive: true, workerId: 'a', version, state: version === null ? 'FAILED' : 'running', ...more }) as ReportedStatus
const refused = (generation: number) => ({ generation, error: { code: 'VERSION_UNHEALTHY', message: 'no', status: 409 } })
const order = ['n1', 'n2', 'n3']

describe('a rollout', () => {
  const rows: readonly (readonly [
    title: string,
    me: string,
    current: string | undefined,
    statuses: readonly ReportedStatus[],
    turn: Turn,
  ])[] = [
    ['begins with the first process', 'n1', '1.0.0', [], 'due'],
    ['lets the second wait for the first', 'n2', '1.0.0', [status('n1', '1.0.0')], 'awaited'],
    ['goes on when the first has it', 'n2', '1.0.0', [status('n1', '2.0.0'), status('n3', '1.0.0')], 'due'],
    ['lets the third wait for the second', 'n3', '1.0.0', [status('n1', '2.0.0'), status('n2', '1.0.0')], 'awaited'],
    ['waits for a process that says nothing', 'n2', '1.0.0', [], 'awaited'],
    ['waits for a process that is lost until the placement drops it', 'n2', '1.0.0', [status('n1', '2.0.0', { alive: false })], 'awaited'],
    ['does not wait for a process in which the worker runs nothing', 'n2', '1.0.0', [status('n1', null)], 'due'],
    ['does not count what was said of an earlier worker of the name', 'n2', '1.0.0', [status('n1', '2.0.0', { workerId: 'b' })], 'awaited'],
    ['gives the new version to a process that begins', 'n3', undefined, [status('n1', '1.0.0')], 'due'],
    ['changes nothing where it has arrived', 'n3', '2.0.0', [status('n1', '1.0.0')], 'due'],
    ['halts where a process refused', 'n3', '1.0.0', [status('n1', '1.0.0', refused(7)), status('n2', '1.0.0')], 'halted'],
    ['goes on while a process that refused before tries again', 'n2', '1.0.0', [status('n1', '1.0.0', refused(6))], 'awaited'],
  ]
  for (const [title, me, current, statuses, turn] of rows) {
    it(title, () => assert.equal(turnOf(worker, me, current, order, statuses), turn))
  }
})
