import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ResourceSnapshot } from '../snapshot.js'
import { snapshot } from '../testing/snapshot.js'
import { aggregate, Bucket, coarseMs } from './aggregate.js'

describe('five minutes of snapshots', () => {
  const cases: readonly (readonly [field: keyof ResourceSnapshot, values: readonly (number | null)[], point: number | null])[] = [
    ['eventLoopUtilization', [0.1, 0.3], 0.2],
    ['eventLoopDelayP50Ms', [null, 4, 2], 3],
    ['eventLoopDelayP99Ms', [10, 900, 20], 900],
    ['cpuCores', [0, 1], 0.5],
    ['cpuLimit', [4, 2], 2],
    ['rss', [5, 9, 7], 9],
    ['heapUsed', [5, 9, 7], 9],
    ['heapLimit', [5, 9, 7], 7],
    ['external', [3, 1], 3],
    ['gcMs', [null, 10, 20], 30],
    ['memoryLimit', [8, 4], 4],
    ['containerMemory', [null, null], null],
    ['throttledMs', [100, null, 50], 150],
    ['storeMs', [1, null, 3], 2],
  ]
  for (const [field, values, point] of cases) {
    it(`make ${JSON.stringify(values)} of ${field} ${point}`, () => {
      assert.equal(aggregate(values.map((value) => snapshot({ [field]: value })))?.[field], point)
    })
  }

  it('weigh a mean by time, of which a snapshot covers at most five minutes', () => {
    const day = snapshot({ spanMs: 86_400_000, eventLoopUtilization: 0 })
    const late = snapshot({ spanMs: coarseMs, eventLoopUtilization: 1 })
    assert.equal(aggregate([day, late])?.eventLoopUtilization, 0.5)
  })

  it('keep each alert of the time once', () => {
    const alert = { rule: 'heap', since: 1, value: 0.95, threshold: 0.9, reason: 'full' } as const
    const point = aggregate([snapshot({ alerts: [alert] }), snapshot({ alerts: [{ ...alert, value: 0.96 }] }), snapshot()])
    assert.deepEqual(point?.alerts, [{ ...alert, value: 0.96 }])
  })

  it('are those of the clock', () => {
    const bucket = new Bucket()
    const points = [0, 30_000, 299_999, 300_000].map((at) => bucket.add(snapshot({ at, rss: at })))
    assert.deepEqual(
      points.map(({ at, rss, spanMs }) => [at, rss, spanMs]),
      [
        [0, 0, 30_000],
        [0, 30_000, 60_000],
        [0, 299_999, 90_000],
        [300_000, 300_000, 30_000],
      ],
    )
  })
})
