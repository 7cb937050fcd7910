import assert from 'node:assert/strict'
import { it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { workers, workersService } from './index.js'

it('a parent that is retried after its child failed adds one line to the log', async (t) => {
  const processors = { child: () => Promise.reject(new Error('no luck')), parent: async () => 1 }
  const host = await createTestHost({
    plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors })],
    env: { WORKER_AUTO_START: 'true', QUEUE_FSYNC: 'off' },
  })
  t.after(() => host.stop())
  const work = host.service(workersService)
  const store = host.service(queuesService)
  for (const name of ['child', 'parent']) await work.create({ name, queueName: name, jobOptions: { attempts: 1 } })
  const { id } = await work.enqueueFlow({ worker: 'parent', data: 1, children: [{ worker: 'child', data: 1 }] })
  const failures = () => host.recorded('onJobFailed').filter(([worker]) => worker === 'parent').length
  await eventually('it fails with its child', () => failures() === 1)
  const before = host.logs.length
  await (await store.job('parent', id))?.job.retry('failed')
  await eventually('it fails again', () => failures() === 2)
  const lines = host.logs.slice(before)
  assert.equal(lines.length, 1, JSON.stringify(lines))
  assert.match(JSON.stringify(lines[0]), /failed permanently: Cannot complete job .* has at least one failed child/)
})
