import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type CommandContext, definePlugin, type Printer } from 'zin'
import { createTestHost, describePlugin, type TestHost } from 'zin/testing'
import { database, databaseService, defineMigration } from './index.js'

const table = (id: string, name: string) =>
  defineMigration({
    id,
    up: (db) =>
      db.schema
        .createTable(name)
        .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
        .execute(),
    down: (db) => db.schema.dropTable(name).execute(),
  })
const broken = defineMigration({ id: '0002_broken', up: () => Promise.reject(new Error('cannot work')), down: () => Promise.resolve() })

const plugin = (name: string, migrations: readonly ReturnType<typeof table>[], started: string[] = []) =>
  definePlugin({
    name,
    version: '1.0.0',
    uses: { database: databaseService },
    setup: (ctx) => {
      for (const migration of migrations) ctx.migration(migration)
    },
    start: async ({ services }) => {
      await services.database.tables().selectFrom(name).selectAll().execute()
      started.push(name)
    },
  })()

describe('the plugin database', () => {
  let rootDir: string
  before(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'zin-database-'))
  })
  after(() => rm(rootDir, { recursive: true, force: true }))

  it('migrates each plugin before its start, and not again at the next boot', async () => {
    const started: string[] = []
    for (const _boot of [1, 2]) {
      const host = await createTestHost({
        plugins: [
          plugin('notes', [table('0001_notes', 'notes')], started),
          plugin('tags', [table('0001_tags', 'tags')], started),
          database(),
        ],
        dataDir: rootDir,
      })
      await host.stop()
    }
    assert.deepEqual(started.toSorted(), ['notes', 'notes', 'tags', 'tags'])
  })

  it('stops the boot when a migration fails, and names it with its plugin', async () => {
    const boot = createTestHost({ plugins: [database(), plugin('sums', [table('0001_sums', 'sums'), broken])] })
    await assert.rejects(boot, { message: /migration 0002_broken of plugin "sums" failed: cannot work/ })
  })

  it('lets migrations before a start take as long as DB_MIGRATION_TIMEOUT_MS allows', async (t) => {
    let finish: (() => void) | undefined
    const long = defineMigration({
      id: '0001_long',
      up: () => {
        return new Promise<void>((resolve) => {
          finish = resolve
        })
      },
      down: () => Promise.resolve(),
    })
    const empty = definePlugin({
      name: 'empty',
      version: '1.0.0',
      dependencies: ['database'],
      setup: (ctx) => ctx.migration(long),
      start() {},
    })
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const boot = createTestHost({ plugins: [database(), empty()], env: { DB_MIGRATION_TIMEOUT_MS: '3600000' } })
    while (finish === undefined) await setImmediate()
    t.mock.timers.tick(3_600_000)
    finish()
    const host = await boot
    t.mock.timers.reset()
    assert.deepEqual(
      (await host.service(databaseService).migrations.status()).map(({ id, status }) => [id, status]),
      [['0001_long', 'applied']],
    )
    await host.stop()
  })

  it('stops the boot in manual mode while a migration is pending, and names the command to run', async () => {
    const env = { DB_MIGRATE: 'manual' }
    await assert.rejects(createTestHost({ plugins: [database(), plugin('notes', [table('0001_notes', 'notes')])], env }), {
      message: /0001_notes.*run `zin migrate`/s,
    })
    const host = await createTestHost({ plugins: [database(), plugin('notes', [table('0001_notes', 'notes')])], env, dataDir: rootDir })
    await host.stop()
  })

  it('stops the boot on an unsupported connection, and on root without password in production, and names the fix', async () => {
    await assert.rejects(createTestHost({ plugins: [database()], env: { DB_CONNECTION: 'postgres' } }), {
      message: /DB_CONNECTION is "postgres"\. Supported/,
    })
    await assert.rejects(createTestHost({ plugins: [database()], env: { DB_CONNECTION: 'rdb', NODE_ENV: 'production' } }), {
      message: /root with an empty password/,
    })
  })

  it('provides named connections beside the default one', async () => {
    const host = await createTestHost({ plugins: [database({ connections: { reports: { driver: 'sqlite' } } })] })
    const service = host.service(databaseService)
    await service
      .tables('reports')
      .schema.createTable('r')
      .addColumn('id', 'varchar(9)', (column) => column.primaryKey())
      .execute()
    await service.upsert('r', ['id'], { id: 'x' }, 'reports')
    assert.equal(await service.insertIfAbsent('r', ['id'], { id: 'x' }, 'reports'), false)
    await assert.rejects(service.tables().selectFrom('r').selectAll().execute())
    assert.deepEqual([service.dialectOf(), service.dialectOf('reports')], ['sqlite', 'sqlite'])
    assert.throws(() => service.dialectOf('nowhere'), { code: 'DATABASE_UNKNOWN_CONNECTION' })
    await host.stop()
  })
})

describe('the migrations of the service', () => {
  it('cover all plugins or some, and are undone newest first', async () => {
    const names = ['notes', 'tags', 'sums']
    const host = await createTestHost({ plugins: [database(), ...names.map((name) => plugin(name, [table(`0001_${name}`, name)]))] })
    const { migrations } = host.service(databaseService)
    const some = { plugins: ['tags', 'sums'] }
    assert.deepEqual((await migrations.status(some)).map((row) => [row.plugin, row.status]).toSorted(), [
      ['sums', 'applied'],
      ['tags', 'applied'],
    ])
    assert.deepEqual((await migrations.down('all', some)).map((row) => row.plugin).toSorted(), ['sums', 'tags'])
    assert.deepEqual(await migrations.down('all', { plugins: [] }), [])
    assert.deepEqual((await migrations.up()).map((row) => row.plugin).toSorted(), ['sums', 'tags'])
    await host.stop()
  })
})

describe('zin migrate', () => {
  let host: TestHost
  before(async () => {
    host = await createTestHost({
      plugins: [database(), plugin('notes', [table('0001_notes', 'notes')]), plugin('tags', [table('0001_tags', 'tags')])],
    })
  })
  after(() => host.stop())

  const migrate = async (options: Readonly<Record<string, unknown>>, confirm = async (_loss: string): Promise<void> => undefined) => {
    const rows: Record<string, unknown>[] = []
    const print: Pick<Printer, 'json' | 'table' | 'waiting'> = {
      json: true,
      table: (given) => void rows.push(...(given as readonly Record<string, unknown>[])),
      waiting: (_what, work) => work,
    }
    const entry = host.host.commands().find(({ command }) => command.name === 'migrate')
    const context = {
      args: {},
      options,
      print,
      confirm,
      host: host.host.view,
      cwd: '',
      env: {},
      signal: new AbortController().signal,
    } as unknown as CommandContext
    const code = await entry?.command.run(context)
    return {
      code,
      rows: rows.map((row) => [row.plugin, row.id, row.direction ?? row.status, row.direction ? row.status : row.batch]),
    }
  }

  it('shows every migration with its state', async () => {
    const { code, rows } = await migrate({ status: true })
    assert.equal(code, 0)
    assert.deepEqual(rows, [
      ['notes', '0001_notes', 'applied', 1],
      ['tags', '0001_tags', 'applied', 2],
    ])
  })

  it('undoes one plugin, applies it again, and undoes and applies all', async () => {
    assert.deepEqual((await migrate({ rollback: true, step: 5, plugin: 'notes' })).rows, [['notes', '0001_notes', 'down', 'done']])
    assert.deepEqual((await migrate({ status: true, plugin: 'notes' })).rows, [['notes', '0001_notes', 'pending', null]])
    assert.deepEqual((await migrate({})).rows, [['notes', '0001_notes', 'up', 'done']])
    assert.deepEqual((await migrate({})).rows, [])
    const fresh = await migrate({ fresh: true })
    assert.deepEqual(
      fresh.rows.map((row) => row[2]),
      ['down', 'down', 'up', 'up'],
    )
    assert.deepEqual((await migrate({ reset: true })).rows.length, 2)
    await migrate({})
  })

  it('asks for confirmation before undoing, and lists what is lost', async () => {
    const losses: string[] = []
    const refuse = async (loss: string): Promise<void> => {
      losses.push(loss)
      throw new Error('no')
    }
    for (const options of [{ rollback: true, step: 1 }, { reset: true, plugin: 'notes' }, { fresh: true }])
      await assert.rejects(migrate(options, refuse), { message: 'no' })
    const lost = (option: string, ...names: string[]): string =>
      `--${option} undoes ${names.length} migration(s) and drops their tables with all rows: ${names.join(', ')}`
    assert.deepEqual(losses, [
      lost('rollback', 'tags 0001_tags'),
      lost('reset', 'notes 0001_notes'),
      lost('fresh', 'tags 0001_tags', 'notes 0001_notes'),
    ])
    assert.deepEqual(
      (await migrate({ status: true })).rows.map((row) => row[2]),
      ['applied', 'applied'],
    )
  })

  it('does not ask for confirmation when nothing is lost', async () => {
    const never = async (): Promise<void> => assert.fail('asked')
    await migrate({ rollback: true, plugin: 'notes' })
    assert.deepEqual((await migrate({ reset: true, plugin: 'notes' }, never)).rows, [])
    assert.deepEqual((await migrate({}, never)).rows, [['notes', '0001_notes', 'up', 'done']])
  })

  it('refuses mutually exclusive options and unknown plugins', async () => {
    await assert.rejects(migrate({ reset: true, fresh: true }), { code: 'MIGRATION_REFUSED', message: /--reset and --fresh/ })
    await assert.rejects(migrate({ step: 1 }), { message: /--step requires --rollback/ })
    await assert.rejects(migrate({ plugin: 'nope' }), { message: /No plugin is named "nope"/ })
  })

  it('refuses to undo in production without --force', async () => {
    const production = await createTestHost({
      plugins: [database(), plugin('notes', [table('0001_notes', 'notes')])],
      env: { NODE_ENV: 'production' },
    })
    const command = production.host.commands().find((entry) => entry.command.name === 'migrate')?.command
    const print: Pick<Printer, 'json' | 'table' | 'waiting'> = { json: true, table: () => undefined, waiting: (_what, work) => work }
    const confirm = async (): Promise<void> => undefined
    const context = (options: object) => ({ args: {}, options, print, confirm, host: production.host.view }) as unknown as CommandContext
    await assert.rejects(async () => command?.run(context({ reset: true })), {
      message: /--reset deletes data; in production, confirm with --force/,
    })
    assert.equal(await command?.run(context({ reset: true, force: true })), 0)
    await production.stop()
  })
})

describePlugin(() => [], database, { readme: new URL('./README.md', import.meta.url) })
