import assert from 'node:assert/strict'
import { it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

it('a slow start does not delay the shutdown of the app', async () => {
  const host = await createTestHost({ plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { slow: () => 1 } })] })
  const service = host.service(workersService)
  const [asked, answer] = [signal(), signal()]
  let answered = false
  await service.create({ name: 'slow', queueName: 'slow' })
  await service.start('slow')
  await service.registerVersion('slow', {
    version: '2.0.0',
    processor: () => 2,
    healthCheck: async () => {
      asked.fire()
      await answer.promise
      answered = true
      return { healthy: true }
    },
  })
  const activated = service.activate('slow', '2.0.0', { waitMs: 0 })
  await asked.promise
  await activated
  await host.stop()
  assert.equal(answered, false)
  assert.doesNotMatch(host.logText(), /cannot run here|not healthy/)
  answer.fire()
})
