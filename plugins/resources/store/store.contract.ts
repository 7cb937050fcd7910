import assert from 'node:assert/strict'
import { it } from 'node:test'
import { snapshot } from '../testing/snapshot.js'
import { type ResourceStore, retentionMs } from './contract.js'

const now = Date.UTC(2026, 0, 2)

/** The contract of every history store. */
export function resourceStoreContract(title: string, open: () => ResourceStore): void {
  it(`keeps snapshots and one point per five minutes of each node on ${title}`, async () => {
    const store = open()
    const alert = { rule: 'heap', since: now, value: 0.95, threshold: 0.9, reason: 'The heap is 95 % full' } as const
    const first = snapshot({ node: 'a', at: now, rss: 1, alerts: [alert] })
    const second = snapshot({ node: 'a', at: now + 30_000, rss: 2, eventLoopDelayP99Ms: null })
    const other = snapshot({ node: 'b', at: now + 10_000, rss: 3 })
    await store.add(first, snapshot({ node: 'a', at: now, rss: 10 }))
    await store.add(second, snapshot({ node: 'a', at: now, rss: 20 }))
    await store.add(other, snapshot({ node: 'b', at: now, rss: 30 }))

    const all = { resolution: 'fine', since: now, limit: 10 } as const
    assert.deepEqual(await store.read(all), [second, other, first])
    assert.deepEqual(await store.read({ ...all, limit: 1 }), [second])
    assert.deepEqual(await store.read({ ...all, since: now + 1, node: 'a' }), [second])
    assert.deepEqual((await store.read({ ...all, resolution: 'coarse' })).map(({ node, rss }) => [node, rss]).sort(), [
      ['a', 20],
      ['b', 30],
    ])
  })

  it(`deletes snapshots after a day and points after thirty on ${title}`, async () => {
    const store = open()
    const at = now + 365 * 86_400_000
    await store.add(snapshot({ node: 'c', at }), snapshot({ node: 'c', at }))
    const left = async (later: number) => {
      await store.prune(at + later)
      const counts = (['fine', 'coarse'] as const).map((resolution) => store.read({ resolution, since: at, node: 'c', limit: 10 }))
      return (await Promise.all(counts)).map(({ length }) => length)
    }
    assert.deepEqual(await left(retentionMs.fine), [1, 1])
    assert.deepEqual(await left(retentionMs.fine + 1), [0, 1])
    assert.deepEqual(await left(retentionMs.coarse + 1), [0, 0])
  })
}
