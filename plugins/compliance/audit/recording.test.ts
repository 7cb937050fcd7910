import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { createTestHost, fake, type TestHost } from 'zin/testing'
import { compliance, complianceService } from '../index.js'

describe('starts of an app with and without the audit log', () => {
  let dataDir: string
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'zin-recording-'))
  })
  after(() => rm(dataDir, { recursive: true, force: true }))

  /** Starts the app on the same data, and stops it after the work. */
  const during = async <T>(on: boolean, work: (host: TestHost) => Promise<T>): Promise<T> => {
    const host = await createTestHost({
      plugins: [database(), kv(), cluster(), ops(), compliance()],
      services: [fake(queuesService, { names: async () => [] })],
      env: { APP_KEY: 'k'.repeat(32), WORKER_ENCRYPTION: 'false', WORKER_AUDIT_LOG: `${on}` },
      dataDir,
    })
    try {
      return await work(host)
    } finally {
      await host.stop()
    }
  }
  const rows = (host: TestHost) => host.service(databaseService).tables().selectFrom('zin_audit').selectAll().orderBy('id').execute()
  const entries = async (host: TestHost, action: string) => (await host.service(complianceService).entries({ action })).entries
  const control = async (host: TestHost) =>
    (await host.service(complianceService).report()).controls.find(({ id }) => id === 'audit/log') as {
      state: string
      evidence: Record<string, unknown>
      gaps: readonly string[]
    }

  it('record nothing while there has never been a log', async () => {
    await during(false, async (host) => {
      assert.deepEqual(await rows(host), [])
      assert.equal((await control(host)).evidence.offSince, null)
    })
    await during(true, async (host) => assert.deepEqual(await entries(host, 'audit.gap'), []))
  })

  it('are recorded with the previous entry and the time since then', async () => {
    const [first] = await during(true, (host) => entries(host, 'audit.start'))
    const [second] = await during(true, (host) => entries(host, 'audit.start'))
    assert.match(second?.reason ?? '', new RegExp(`^on \\S+; the previous entry is ${first?.id} at \\S+Z, \\d+ s earlier$`))
    assert.deepEqual([second?.actor, second?.target, second?.outcome], ['plugin:compliance', 'audit:log', 'noted'])
  })

  it('write no entry without the log, and the next start with it records the gap once, also in the report', async () => {
    const recorded = await during(true, rows)
    const last = recorded.at(-1)
    await during(false, async (host) => {
      assert.deepEqual(await rows(host), recorded)
      const { evidence, state } = await control(host)
      assert.equal(state, 'off')
      assert.match(String(evidence.offSince), /^\d{4}-.*Z$/)
    })
    await during(false, async (host) => assert.deepEqual(await rows(host), recorded))
    const gap = await during(true, async (host) => {
      const [found] = await entries(host, 'audit.gap')
      assert.equal(found?.outcome, 'off')
      assert.match(
        found?.reason ?? '',
        new RegExp(`^WORKER_AUDIT_LOG was false, first at the start at \\S+Z; the previous entry is ${last?.id} at \\S+Z, \\d+ s earlier$`),
      )
      const { gaps, state } = await control(host)
      assert.equal(state, 'gap')
      assert.deepEqual(gaps, [`The log was off 1 time; entry ${found?.id}: ${found?.reason}`])
      assert.equal((await host.service(complianceService).verify()).intact, true)
      return found
    })
    assert.deepEqual(await during(true, (host) => entries(host, 'audit.gap')), [gap])
  })
})
