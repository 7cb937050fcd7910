import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openEmbeddedBackend } from './backends/embedded.js'
import { deletionContract } from './deletion.contract.js'
import { openEmbedded } from './embedded/open.js'
import { queues } from './index.js'

deletionContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))

describe('deleted jobs in the files of the embedded store', () => {
  it('are gone when they have expired and the store is maintained', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-deletion-'))
    const store = await openEmbedded({ dataDir, fsync: false })
    const { deletion, makeQueue } = openEmbeddedBackend(store)
    const queue = makeQueue('deleted', {})
    try {
      for (const ms of [0, 60_000]) {
        const { id = '' } = await queue.add('x', {})
        assert.equal(await deletion.deleteJob('deleted', id, { batch: `b${ms}`, ms }), 'restorable')
      }
      await deletion.expire()
      const { rows } = await store.pool.query<{ batch: string }>('select batch from zin_deleted_job')
      assert.deepEqual(rows, [{ batch: 'b60000' }])
    } finally {
      await queue.close()
      await store.close()
      await rm(dataDir, { recursive: true })
    }
  })
})
