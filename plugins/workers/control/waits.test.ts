import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { workers, workersService } from '../index.js'
import { signal } from '../testing/signal.js'

describe('waits for nodes', () => {
  it('end in time when the wall clock is set back', { timeout: 30_000 }, async (t) => {
    let behind = 0
    let step = 0
    const begun = signal()
    const release = signal()
    const host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
      env: { WORKER_AUTO_START: 'true' },
      clock: { now: () => Date.now() - (behind += step), monotonic: () => systemClock.monotonic() },
    })
    t.after(() => host.stop())
    const service = host.service(workersService)
    await service.create({ name: 'slow', queueName: 'slow', processor: () => (begun.fire(), release.promise) })
    await service.enqueue('slow', null)
    await begun.promise
    step = 60_000
    const call = (method: string, path: string) => host.inject({ method, path, headers: { 'x-requested-with': 'test' } })
    assert.equal((await call('POST', '/api/workers/slow/stop?wait=20')).status, 202)
    assert.equal((await call('DELETE', '/api/workers/slow?wait=20')).status, 200)
    step = 0
    release.fire()
  })
})
