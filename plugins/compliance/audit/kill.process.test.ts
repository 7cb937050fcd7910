import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { createTestHost, fake } from 'zin/testing'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { quickStart } from '../../../scripts/testing/runnable.js'
import { compliance, complianceService } from '../index.js'

const child = fileURLToPath(new URL('./testing/writer-child.mjs', import.meta.url))
const rounds = 20

it('verifies after 20 kills during writes, and contains every acknowledged action', async (t) => {
  const clean = cleanUp(t)
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-audit-kill-'))
  clean(() => rm(rootDir, { recursive: true, force: true }))
  const env = { APP_KEY: 'k'.repeat(32), WORKER_ENCRYPTION: 'false', ZIN_DATA_DIR: rootDir, NODE_ENV: 'test', LOG_LEVEL: 'error' }
  const acknowledged: string[] = []
  /** Kills a process after a number of acknowledged actions, which differs each time. */
  const killOne = async (round: number): Promise<void> => {
    const writer: ChildProcess = fork(child, {
      execArgv: [...quickStart()],
      env: { ...process.env, APP_ENV: JSON.stringify(env), APP_ROOT: rootDir, ROUND: `${round}` },
    })
    const exited = once(writer, 'exit')
    let left = 3 + (round % 5)
    writer.on('message', (targets: string[]) => {
      acknowledged.push(...targets)
      if (--left === 0) writer.kill('SIGKILL')
    })
    assert.deepEqual(await exited, [null, 'SIGKILL'])
  }
  // Four at a time: each writes its own chain into one file.
  for (let round = 0; round < rounds; round += 4) await Promise.all([0, 1, 2, 3].map((one) => killOne(round + one)))

  const services = [fake(queuesService, { names: async () => [] })]
  const plugins = [database(), kv(), cluster(), ops(), compliance()]
  const host = await createTestHost({ plugins, services, env, rootDir, dataDir: rootDir })
  clean(() => host.stop())
  const report = await host.service(complianceService).verify()
  assert.deepEqual([report.fault, report.chains, report.open], [undefined, rounds + 1, rounds + 1])
  const rows = await host
    .service(databaseService)
    .tables()
    .selectFrom('zin_audit')
    .select('target')
    .where('outcome', '=', 'asked')
    .execute()
  const kept = new Set(rows.map(({ target }) => target))
  assert.deepEqual(
    acknowledged.filter((target) => !kept.has(target)),
    [],
  )
  assert.ok(acknowledged.length >= rounds * 9)
})
