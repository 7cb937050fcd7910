import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { createTestHost, fake, type TestHost } from 'zin/testing'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { compliance, complianceService } from '../index.js'
import { keysFor } from '../keys.js'
import { sealOf } from './chain.js'
import { SecondPlace } from './places/second-place.js'
import { type ChainRow, chainOfRow } from './store/rows.js'

/** Tables of the audit log from before seals formed a chain, on a store. */
export function upgradeContract(store: string, env: () => Readonly<Record<string, string>>): void {
  it(`a log from before seals formed a chain is verified, continued and sealed again on ${store}`, async (t) => {
    const clean = cleanUp(t)
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-audit-upgrade-'))
    clean(() => rm(dataDir, { recursive: true, force: true }))
    const APP_KEY = 'k'.repeat(32)
    const during = async <T>(isOn: boolean, work: (host: TestHost) => Promise<T>): Promise<T> => {
      const host = await createTestHost({
        plugins: [database(), kv(), cluster(), ops(), compliance()],
        services: [fake(queuesService, { names: async () => [] })],
        env: { APP_KEY, WORKER_ENCRYPTION: 'false', WORKER_AUDIT_LOG: `${isOn}`, ...env() },
        dataDir,
      })
      try {
        return await work(host)
      } finally {
        await host.stop()
      }
    }
    const verify = (host: TestHost) => host.service(complianceService).verify()
    await during(true, async (host) => assert.equal((await verify(host)).intact, true))

    await during(false, async (host) => {
      const { migrations, tables } = host.service(databaseService)
      const rows = (await tables().selectFrom('zin_compliance_chains').selectAll().execute()) as ChainRow[]
      const undone = await migrations.down({ steps: 2 }, { plugins: ['compliance'] })
      assert.deepEqual(
        undone.map(({ id, status }) => `${id} ${status}`),
        ['0005_hold_erasures done', '0004_add_seal_chain done'],
      )
      const { current } = keysFor('audit', { APP_KEY, APP_KEY_BK: '' })
      for (const row of rows) {
        const older = { ...chainOfRow(row), counter: 0 }
        const seal = sealOf(current, older)
        await tables().updateTable('zin_compliance_chains').set({ seal }).where('chain', '=', older.chain).execute()
      }
      await new SecondPlace(host.service(kvService)).forget(1)
    })

    await during(true, async (host) => {
      const before = await verify(host)
      assert.deepEqual([before.fault, before.chains, before.earlierSeals], [undefined, 2, 1])
      const { body } = await host.inject({
        method: 'POST',
        path: '/api/compliance/retention/run',
        headers: { 'x-requested-with': 'test' },
        body: {},
      })
      assert.deepEqual(body.problems, [])
      const after = await verify(host)
      assert.deepEqual([after.fault, after.earlierSeals, after.unconfirmed], [undefined, 0, 0])
      const { entries } = await host.service(complianceService).entries({ action: 'audit.seal' })
      assert.deepEqual(
        entries.map(({ outcome, reason }) => [outcome, reason]),
        [['done', '1 chain of an ended process was sealed with the current key']],
      )
    })
  })
}
