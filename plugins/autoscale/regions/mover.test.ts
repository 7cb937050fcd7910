import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeApp, node } from '../testing/fake-app.js'

const [us, eu] = ['us-east-1', 'eu-west-1']
const regions = { primary: us, secondaries: [eu] }
const limits = { enabled: true, minWorkers: 1, maxWorkers: 4, scaleUpThreshold: 100, scaleDownThreshold: 10 }
const worker = (features: Readonly<Record<string, boolean>> = { datacenter: true }) => ({
  name: 'emails',
  features,
  placement: { regions: [us] },
  extensions: { autoscale: { ...limits, regions } },
})
const both = [node('a', us), node('b', eu)]
const lost = [{ ...node('a', us), alive: false }, node('b', eu)]

describe('a worker with regions', () => {
  it('leaves a lost region and returns, each with a decision and onFailover, also without auto-scaling', async () => {
    const app = fakeApp({ workers: [worker()], load: { nodes: both }, settings: { WORKER_AUTO_SCALING_ENABLED: false } })
    const placed = () => app.view('emails')?.placement.regions
    await app.tick()
    app.load.nodes = lost
    await app.run(14)
    assert.deepEqual(placed(), [us])
    await app.run(6)
    assert.deepEqual(placed(), [eu])
    app.load.nodes = both
    await app.run(55)
    assert.deepEqual(placed(), [eu])
    await app.run(10)
    assert.deepEqual(placed(), [us])
    assert.deepEqual(
      app.decisions.map(({ kind, verdict, acted, rule, reason }) => [kind, verdict, acted, rule, reason]),
      [
        [
          'failover',
          'moved',
          true,
          'autoscale/region-lost',
          `Moved to region "${eu}" because "${us}" has no process left that runs workers`,
        ],
        [
          'failover',
          'returned',
          true,
          'autoscale/region-back',
          `Moved back from region "${eu}" to "${us}", which has processes again and comes earlier in the topology`,
        ],
      ],
    )
    assert.deepEqual(
      app.moved.map(({ from, to }) => [from, to]),
      [
        [[us], eu],
        [[eu], us],
      ],
    )
  })

  for (const [title, given, expected] of [
    ['stays without the feature', { workers: [worker({})] }, us],
    ['stays in a dry run', { settings: { WORKER_AUTO_SCALING_DRY_RUN: true } }, us],
    ['leaves later with a longer failoverSeconds', { options: { failoverSeconds: 60 } }, us],
    ['uses the regions of the plugin when it defines none', { workers: [{ ...worker(), extensions: {} }], options: { regions } }, eu],
    ['leaves after failoverSeconds', {}, eu],
  ] as const) {
    it(title, async () => {
      const app = fakeApp({ workers: [worker()], load: { nodes: both }, ...given })
      await app.tick()
      app.load.nodes = lost
      await app.run(30)
      assert.deepEqual(app.view('emails')?.placement.regions, [expected])
      assert.ok(app.decisions.length <= 1)
    })
  }

  it('returns sooner with a shorter returnSeconds', async () => {
    const app = fakeApp({ workers: [worker()], load: { nodes: lost }, options: { returnSeconds: 5, failoverSeconds: 0 } })
    await app.tick()
    assert.deepEqual(app.view('emails')?.placement.regions, [eu])
    app.load.nodes = both
    await app.run(10)
    assert.deepEqual(app.view('emails')?.placement.regions, [us])
  })
})
