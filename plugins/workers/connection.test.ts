import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { CommandContext, Printer } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { workers, workersService } from './index.js'

describe('workers on a separate database connection', () => {
  const boot = (dataDir: string, mode: 'auto' | 'manual', only = false) => {
    const db = database({ connections: { reports: { driver: 'sqlite' } } })
    return createTestHost({
      plugins: only ? [db] : [db, kv(), cluster(), queues(), ops(), workers()],
      dataDir,
      env: { DB_MIGRATE: mode, WORKER_PERSISTENCE_DRIVER: 'db', WORKER_PERSISTENCE_DB_CONNECTION: 'reports' },
    })
  }
  const tablesOf = async (host: TestHost, connection: string): Promise<readonly string[]> => {
    const tables = await host.service(databaseService).tables(connection).introspection.getTables()
    return tables.map(({ name }) => name).filter((name) => name.startsWith('zin_worker'))
  }
  const migrate = async (host: TestHost, options: object): Promise<readonly string[]> => {
    const rows: string[] = []
    const print: Pick<Printer, 'json' | 'table' | 'waiting'> = {
      json: true,
      table: (given) => {
        for (const row of given as readonly Record<string, string>[]) rows.push(`${row.id} ${row.direction ?? ''}${row.status}`)
      },
      waiting: (_what, work) => work,
    }
    const command = host.host.commands().find(({ command: { name } }) => name === 'migrate:worker')?.command
    const context = { options, print, confirm: async () => undefined, host: host.host.view }
    assert.equal(await command?.run(context as unknown as CommandContext), 0)
    return rows
  }

  it('have tables there that zin migrate:worker shows, drops and creates, and that no start creates with DB_MIGRATE=manual', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-connection-'))
    t.after(() => rm(dataDir, { recursive: true, force: true }))
    const host = await boot(dataDir, 'auto')
    await host.service(workersService).create({ name: 'mail', queueName: 'mail', processor: () => 1, autoStart: false })
    const ids = ['0001_create_zin_workers', '0002_create_zin_worker_state']
    const all = [...ids, '0003_use_unicode_in_zin_workers', '0004_create_zin_worker_durations', '0005_add_zin_worker_outcome_counts'].map(
      (id) => `${id}_on_reports`,
    )
    assert.deepEqual((await migrate(host, { status: true })).toSorted(), all.map((id) => `${id} applied`).toSorted())
    const made = await tablesOf(host, 'reports')
    assert.deepEqual([made.length, made.includes('zin_workers'), await tablesOf(host, 'default')], [8, true, []])
    await migrate(host, { reset: true })
    assert.deepEqual(await tablesOf(host, 'reports'), [])
    assert.deepEqual((await migrate(host, {})).toSorted(), all.map((id) => `${id} updone`).toSorted())
    assert.deepEqual(await tablesOf(host, 'reports'), made)
    await migrate(host, { reset: true })
    await host.stop()
    await assert.rejects(boot(dataDir, 'manual'), {
      message: /plugin "workers" are pending \(0001_create_zin_workers_on_reports, 0002.*run `zin migrate`/s,
    })
    const bare = await boot(dataDir, 'manual', true)
    assert.deepEqual(await tablesOf(bare, 'reports'), [])
    await bare.stop()
  })
})
