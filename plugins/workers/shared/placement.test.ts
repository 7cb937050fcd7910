import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WorkerNodeInfo } from './contract.js'
import { placementOf } from './placement.js'

const node = (id: string, changes: Partial<WorkerNodeInfo> = {}): WorkerNodeInfo => {
  return { id, region: 'eu', consumes: true, draining: false, alive: true, ...changes }
}
const nodes = Array.from({ length: 8 }, (_, index) => node(`host-${index}-4711-a1b2c3`))
const workers = Array.from({ length: 2_000 }, (_, index) => `worker-${index}`)
const place = (worker: string, count: number | 'all', among: readonly WorkerNodeInfo[] = nodes) =>
  placementOf({ nodes: count }, worker, among)

describe('the placement of a worker', () => {
  it('is all nodes, or the first ones in the same order', () => {
    const all = place('emails', 'all')
    assert.deepEqual(
      all.toSorted(),
      nodes.map(({ id }) => id),
    )
    assert.deepEqual(place('emails', 3), all.slice(0, 3))
    assert.deepEqual(place('emails', 99), all)
    assert.deepEqual(place('emails', 'all', nodes.toReversed()), all)
    assert.deepEqual(place('emails', 'all', []), [])
  })

  it('is live nodes that consume jobs in a matching region', () => {
    const mixed = [node('a'), node('b', { alive: false }), node('c', { consumes: false }), node('d', { region: 'us' })]
    assert.deepEqual(place('w', 'all', mixed).toSorted(), ['a', 'd'])
    assert.deepEqual(placementOf({ nodes: 'all', regions: ['us', 'ap'] }, 'w', mixed), ['d'])
    assert.deepEqual(placementOf({ nodes: 2, regions: ['ap'] }, 'w', mixed), [])
  })

  it('is spread evenly over the nodes', () => {
    for (const count of [1, 3]) {
      const shares = new Map(nodes.map(({ id }) => [id, 0]))
      for (const worker of workers) for (const id of place(worker, count)) shares.set(id, (shares.get(id) ?? 0) + 1)
      const fair = (workers.length * count) / nodes.length
      for (const [id, share] of shares) assert.ok(Math.abs(share - fair) < fair * 0.2, `${id} has ${share}, fair is ${fair}`)
    }
  })

  it('moves only the share of a node that leaves or joins', () => {
    const fewer = nodes.slice(1)
    const gone = nodes[0]?.id
    let moved = 0
    for (const worker of workers) {
      const before = place(worker, 2)
      const later = place(worker, 2, fewer)
      if (before.includes(gone ?? '')) {
        moved++
        assert.equal(later.filter((id) => before.includes(id)).length, 1)
      } else {
        assert.deepEqual(later, before)
      }
    }
    assert.ok(Math.abs(moved - workers.length / 4) < workers.length * 0.05, `${moved} moved`)
  })
})
