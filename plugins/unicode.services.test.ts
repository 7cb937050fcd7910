import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Kysely, sql } from 'kysely'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { workers } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { mysqlDatabase } from '../scripts/testing/mysql-database.js'

describe('tables in a database whose default character set is latin1', () => {
  const { env, name, create, drop } = mysqlDatabase('latin1', 'latin1')
  before(create)
  after(drop)

  const boot = (): Promise<TestHost> =>
    createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { idle: () => 1 } }), workerHealth(), decisions()],
      env: { ...env, WORKER_PERSISTENCE_DRIVER: 'db' },
    })
  /** Tables that an earlier version created in the character set of the database. */
  const earlier = ['zin_kv', 'zin_worker_health', 'zin_workers']
  // biome-ignore lint/suspicious/noExplicitAny: all tables
  const collations = async (db: Kysely<any>) => {
    const { rows } = await sql<{ name: string; collation: string }>`
      select distinct table_name as name, collation_name as collation from information_schema.columns
      where table_schema = ${name} and collation_name is not null`.execute(db)
    return rows
  }
  const differentFrom = (rows: Awaited<ReturnType<typeof collations>>, collation: string) =>
    rows.filter((row) => row.collation !== collation)

  it('store every language and compare by bytes, and an id from a URL in any script is a 404', async () => {
    const host = await boot()
    try {
      const found = await collations(host.service(databaseService).tables())
      assert.ok(found.length > 8, 'the tables of all plugins')
      assert.deepEqual(differentFrom(found, 'utf8mb4_bin'), [])
      const worker = { name: 'idle', queueName: 'idle', autoStart: false }
      assert.equal((await host.inject({ method: 'POST', path: '/api/workers', body: worker })).status, 201)
      for (const id of ['%C3%A9', '%E6%97%A5%E6%9C%AC', '%F0%9F%8E%88']) {
        const { status } = await host.inject({ method: 'GET', path: `/api/workers/idle/operations/${id}` })
        assert.equal(status, 404)
      }
    } finally {
      await host.stop()
    }
  })

  it('are converted and keep their rows when an earlier version created them', async () => {
    const first = await boot()
    const db = first.service(databaseService).tables()
    await sql`insert into zin_kv (id, value) values ('kept', 'ü')`.execute(db)
    for (const table of earlier) await sql`alter table ${sql.table(table)} convert to character set latin1`.execute(db)
    await sql`delete from zin_migrations where id like '%unicode%'`.execute(db)
    const converted = (await collations(db)).filter((row) => row.collation === 'latin1_swedish_ci')
    assert.deepEqual(converted.map((row) => row.name).sort(), earlier)
    await first.stop()

    const second = await boot()
    try {
      const after = second.service(databaseService).tables()
      assert.deepEqual(differentFrom(await collations(after), 'utf8mb4_bin'), [])
      const { rows } = await sql<{ value: string }>`select value from zin_kv where id = 'kept'`.execute(after)
      assert.deepEqual(rows, [{ value: 'ü' }])
    } finally {
      await second.stop()
    }
  })
})
