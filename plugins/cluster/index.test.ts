import assert from 'node:assert/strict'
import { it } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { createTestHost, describePlugin, fakeClock } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { cluster, clusterService, localCluster, MemoryHub } from './index.js'
import { createCluster } from './service.js'
import { memoryStore } from './store/memory.js'
import { silentLog } from './testing/cluster-pair.js'

describePlugin(() => [database(), kv()], cluster, { readme: new URL('./README.md', import.meta.url) })

for (const [driver, plugins, kind] of [
  ['auto', () => [database(), cluster()], 'sql'],
  ['auto', () => [cluster()], 'memory'],
  ['memory', () => [database(), cluster()], 'memory'],
] as const) {
  it(`CLUSTER_DRIVER=${driver} is ${kind} with ${plugins().length - 1} other plugins`, async () => {
    const host = await createTestHost({ plugins: plugins(), env: { CLUSTER_DRIVER: driver } })
    const service = host.service(clusterService)
    assert.equal(service.kind, kind)
    assert.deepEqual(
      service.nodes().map(({ id, alive }) => [id, alive]),
      [[service.node.id, true]],
    )
    await host.stop()
  })
}

for (const [driver, what] of [
  ['redis', /REDIS_URL/],
  ['sql', /database\(\)/],
] as const) {
  it(`does not boot with CLUSTER_DRIVER=${driver} when that store is not enabled`, async () => {
    await assert.rejects(createTestHost({ plugins: [cluster()], env: { CLUSTER_DRIVER: driver } }), what)
  })
}

it('rejects labels that are too long', async () => {
  const host = await createTestHost({ plugins: [cluster()] })
  await assert.rejects(host.service(clusterService).label({ 'test.long': 'x'.repeat(5_000) }), { code: 'CLUSTER_MISCONFIGURED' })
  await host.stop()
})

it('stores labels with the next heartbeat when the store was unavailable', async () => {
  const clock = fakeClock()
  const hub = new MemoryHub()
  let away = false
  const store = memoryStore({ clock, hub })
  const flaky: typeof store = new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      return key === 'renew' && away ? () => Promise.reject(new Error('away')) : value.bind(target)
    },
  })
  const node = { id: 'a', host: 'h', pid: 1, startedAt: 0 }
  const labelled = createCluster({ store: flaky, node, clock, log: silentLog, leaseMs: 15_000 })
  const other = localCluster({ node: { id: 'b' }, clock, log: silentLog, hub })
  await labelled.open()
  await other.open()
  away = true
  await assert.rejects(labelled.label({ 'test.color': 'red' }), /away/)
  away = false
  await labelled.heartbeat()
  await eventually('the other node has read the labels', () => {
    return other.nodes().find(({ id }) => id === 'a')?.labels['test.color'] === 'red'
  })
  await labelled.close()
  await other.close()
})
