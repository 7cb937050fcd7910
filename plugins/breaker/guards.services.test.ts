import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { cluster, clusterService } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { leaseMs } from './circuit.js'
import { type Connection, connectedLab } from './testing/guard-lab.js'

describe('circuits of two apps on one Redis, which do not poll', () => {
  const connect = async (app: string) => {
    const env = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set', APP_NAME: app }
    const host = await createTestHost({ plugins: [database(), kv(), cluster()], env })
    const connection: Connection = { kv: host.service(kvService), cluster: host.service(clusterService) }
    return { host, connection }
  }

  it('are the same in both after the message, and close even if a process that held every probe is killed', async (t) => {
    const after = cleanUp(t)
    const app = `breaker-${randomUUID().slice(0, 8)}`
    const [one, other] = await Promise.all([connect(app), connect(app)])
    after(() => Promise.all([one.host.stop(), other.host.stop()]))
    const { clock, first, open, second, transitions } = await connectedLab(t, [one.connection, other.connection])
    await open()
    assert.deepEqual([await first.begin('a'), await second.begin('b')], [30_000, 30_000])

    clock.advance(30_000)
    for (const id of ['a', 'b', 'c']) {
      const heard = second.hears()
      assert.equal(await first.begin(id), 'ran')
      await heard
    }
    assert.equal(await second.begin('d'), 5_000)
    // The first one is killed: it neither ends its probes nor renews their leases.
    clock.advance(leaseMs)
    for (const id of ['d', 'e', 'f']) assert.equal(await second.begin(id), 'ran')
    for (const id of ['d', 'e', 'f']) await second.end(id, 'completed')
    assert.equal(await second.begin('g'), 'ran')
    assert.deepEqual(transitions, ['closed → open', 'open → half-open', 'half-open → closed'])
  })
})
