import assert from 'node:assert/strict'
import { it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import { canary, canaryService } from './index.js'

it('a rollback between the decision to promote and the activation leaves the stable version active', async (t) => {
  let rollBack: (() => Promise<unknown>) | undefined
  const host = await createTestHost({
    plugins: [database(), kv(), cluster(), queues(), ops(), workers(), canary()],
    env: { QUEUE_FSYNC: 'off' },
    hooks: {
      beforeWorkerChange: async ({ action }) => {
        const once = action === 'version.activate' ? rollBack : undefined
        if (once === undefined) return undefined
        rollBack = undefined
        await once()
        return undefined
      },
    },
  })
  t.after(() => host.stop())
  const work = host.service(workersService)
  const canaries = host.service(canaryService)
  await work.create({ name: 'raced', queueName: 'raced', processor: async () => 1, version: '1.0.0' })
  await work.registerVersion('raced', { version: '2.0.0', description: 'new', processor: async () => 2 })
  await work.start('raced')
  await canaries.start('raced', { newVersion: '2.0.0', trafficPercentage: 50, duration: 3_600_000 })
  rollBack = () => canaries.rollback('raced')
  await canaries.complete('raced').catch(() => undefined)
  assert.equal(rollBack, undefined)
  assert.equal((await canaries.status('raced')).state, 'ROLLED_BACK')
  assert.equal((await work.get('raced')).desiredVersion, '1.0.0')
})
