import assert from 'node:assert/strict'
import { it } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { createTestHost, describePlugin } from 'zin/testing'
import { cluster, clusterService } from './index.js'

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
