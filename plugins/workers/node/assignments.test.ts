import assert from 'node:assert/strict'
import { it } from 'node:test'
import { placementOf } from '../shared/placement.js'
import { nodeStatus } from '../testing/helpers.js'
import { stored } from '../testing/stored-worker.js'
import { Assignments } from './assignments.js'

const node = (id: string, alive = true) => ({ id, alive, region: 'us-east-1', consumes: true, draining: false })
const [first, second] = placementOf({ nodes: 'all' }, 'emails', [node('a'), node('b')]) as readonly [string, string]
const both = [node(first), node(second)]
const worker = stored('emails', {}, { placement: { nodes: 1 } })
const error = { code: 'X', message: 'broken', status: 500 }

/** Assignments in which the first node fails. */
function failing(): Assignments {
  const assignments = new Assignments()
  assignments.note(first, nodeStatus('emails', { workerId: worker.id, state: 'FAILED', error }))
  return assignments
}
const orderOf = (assignments: Assignments) => assignments.of(worker, { me: second, status: undefined, nodes: both, owns: false }).order

it('a failing node comes last until the cluster has not known it for a while', () => {
  const assignments = failing()
  assert.deepEqual(orderOf(assignments), [second])
  assignments.prune([node(second)])
  assert.deepEqual(orderOf(assignments), [second])
  assignments.prune([node(second)])
  assert.deepEqual(orderOf(assignments), [first])
})

it('a failing node is not forgotten while its lease has only ended, nor when it is unknown for a short time', () => {
  const assignments = failing()
  const lost = [node(first, false), node(second)]
  for (const nodes of [lost, lost, [node(second)], lost, [node(second)], both]) assignments.prune(nodes)
  assert.deepEqual(orderOf(assignments), [second])
})
