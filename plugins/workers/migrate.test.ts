import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type CommandContext, definePlugin, type Printer } from 'zin'
import { database, databaseService, defineMigration } from 'zin/plugins/database'
import { createTestHost, type TestHost } from 'zin/testing'
import { dependentsOf, migrateWorkerCommand } from './migrate.js'
import { workersMigration } from './migrations/0001-create-workers.js'

const table = (name: string) =>
  defineMigration({
    id: `0001_${name}`,
    up: (db) =>
      db.schema
        .createTable(name)
        .addColumn('id', 'varchar(9)', (column) => column.primaryKey())
        .execute(),
    down: (db) => db.schema.dropTable(name).execute(),
  })
const plugin = (name: string, dependencies: readonly string[], migration = table(name)) =>
  definePlugin({ name, version: '1.0.0', dependencies, setup: (ctx) => ctx.migration(migration) })()
const plugins = () => [
  database(),
  plugin(
    'workers',
    ['database'],
    workersMigration('zin_workers', () => 'sqlite'),
  ),
  plugin('watcher', ['workers']),
  plugin('watcher-of-watcher', ['watcher']),
  plugin('stranger', ['database']),
]

describe('zin migrate:worker', () => {
  let host: TestHost
  before(async () => {
    host = await createTestHost({ plugins: plugins() })
  })
  after(() => host.stop())

  const migrate = async (options: Readonly<Record<string, unknown>>, of = host) => {
    const rows: string[] = []
    const print: Pick<Printer, 'json' | 'table' | 'waiting'> = {
      json: true,
      table: (given) =>
        void rows.push(...(given as readonly Record<string, string>[]).map((row) => `${row.plugin} ${row.direction ?? row.status}`)),
      waiting: (_what, work) => work,
    }
    const confirm = async (): Promise<void> => undefined
    const { view } = of.host
    const command = migrateWorkerCommand({ app: view.app, database: of.service(databaseService) })
    assert.equal(await command.run({ options, print, confirm, host: view } as unknown as CommandContext), 0)
    return rows
  }

  it('acts only on the migrations of the workers', async () => {
    assert.deepEqual(await migrate({ status: true }), ['workers applied'])
    assert.deepEqual(await migrate({ fresh: true }), ['workers down', 'workers up'])
    assert.deepEqual(await migrate({ rollback: true }), ['workers down'])
    assert.deepEqual(await migrate({ status: true }), ['workers pending'])
    assert.deepEqual(await migrate({}), ['workers up'])
    assert.deepEqual(await migrate({}), [])
  })

  it('also acts on those of plugins that depend on workers with --all', async () => {
    const applied = ['watcher applied', 'watcher-of-watcher applied', 'workers applied']
    assert.deepEqual((await migrate({ status: true, all: true })).toSorted(), applied)
    assert.deepEqual(await migrate({ rollback: true, step: 2, all: true }), ['workers down', 'watcher-of-watcher down'])
    assert.deepEqual(await migrate({ reset: true }), [])
    assert.deepEqual((await migrate({ all: true })).toSorted(), ['watcher-of-watcher up', 'workers up'])
    assert.equal((await migrate({ reset: true, all: true })).length, 3)
    assert.equal((await migrate({ all: true })).length, 3)
  })

  it('rejects mutually exclusive options, and data loss in production', async () => {
    await assert.rejects(migrate({ fresh: true, rollback: true }), { code: 'MIGRATION_REFUSED', message: /--rollback and --fresh/ })
    await assert.rejects(migrate({ step: 1 }), { message: /--step requires --rollback/ })
    const production = await createTestHost({ plugins: plugins(), env: { NODE_ENV: 'production' } })
    await assert.rejects(migrate({ reset: true }, production), { message: /--reset deletes data; in production, confirm with --force/ })
    assert.deepEqual(await migrate({ reset: true, force: true }, production), ['workers down'])
    await production.stop()
  })

  it('reports that the database is missing', async () => {
    const command = migrateWorkerCommand({ app: host.host.view.app, database: undefined })
    const context = { options: {}, host: host.host.view } as unknown as CommandContext
    await assert.rejects(async () => command.run(context), { code: 'WORKERS_MISCONFIGURED', message: /plugin database/ })
  })

  it('finds each plugin that depends on the workers once', () => {
    const after = (name: string, ...before: string[]) => ({ name, after: before })
    const graph = [after('a'), after('b', 'a'), after('c', 'b', 'a'), after('d', 'x'), after('x')]
    assert.deepEqual(dependentsOf('a', graph), ['b', 'c'])
  })
})
