import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { definePlugin, systemClock } from 'zin'
import { health } from 'zin/plugins/health'
import { openSqlite, type SqliteDatabase } from 'zin/plugins/sqlite'
import { createTestHost, memoryLogger, type TestHost } from 'zin/testing'
import { limits } from './database.contract.js'
import { type Database, database, databaseService, defineMigration } from './index.js'
import { createDatabase } from './service.js'

const createNotes = defineMigration({
  id: '0001_create_notes',
  up: (db) => sql`create table notes (id text primary key)`.execute(db).then(() => undefined),
  down: () => Promise.resolve(),
})
const notes = definePlugin({ name: 'notes', version: '1.0.0', dependencies: ['database'], setup: (ctx) => ctx.migration(createNotes) })

describe('a SQLite file that another connection has locked', () => {
  let dir: string
  let host: TestHost
  let db: Database
  let other: SqliteDatabase
  const boot = (env: Readonly<Record<string, string>>) => createTestHost({ plugins: [database(), health(), notes()], dataDir: dir, env })
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'zin-locked-'))
    host = await boot({ DB_STATEMENT_TIMEOUT_MS: '60000' })
    db = host.service(databaseService)
    other = openSqlite(join(dir, 'app.db'))
  })
  after(async () => {
    other.close()
    await host.stop()
    await rm(dir, { recursive: true, force: true })
  })
  const write = (id: string, to = db) => to.insertIfAbsent('notes', ['id'], { id })
  const ids = async () => (await sql<{ id: string }>`select id from notes order by id`.execute(db.tables())).rows.map(({ id }) => id)

  it('blocks neither liveness nor reads while writes and transactions wait, and these succeed in the end', async () => {
    other.exec('begin exclusive')
    const done: string[] = []
    const waiting = [write('a'), db.transaction((tx) => tx.insertInto('notes').values({ id: 'b' }).execute())]
    const written = Promise.all(waiting).then(() => done.push('written'))
    assert.equal((await host.inject({ method: 'GET', path: '/health/live' })).status, 200)
    assert.deepEqual(await ids(), [])
    assert.ok(Number.isInteger(await db.ping()))
    done.push('answered')
    other.exec('commit')
    await written
    assert.deepEqual(done, ['answered', 'written'])
    assert.deepEqual(await ids(), ['a', 'b'])
  })

  it('causes a 503 at the deadline of a statement, which is not written later', async () => {
    const second = await boot({ DB_STATEMENT_TIMEOUT_MS: '100' })
    const impatient = second.service(databaseService)
    other.exec('begin exclusive')
    const failed = [write('c', impatient), impatient.transaction((tx) => tx.insertInto('notes').values({ id: 'd' }).execute())]
    for (const one of failed) {
      await assert.rejects(one, (error) => {
        assert.deepEqual([(error as { code?: string }).code, (error as { status?: number }).status], ['DATABASE_UNAVAILABLE', 503])
        assert.match(String(error), /app\.db has been locked by another process for 100 ms/)
        return impatient.isUnavailable(error)
      })
    }
    other.exec('commit')
    assert.equal(await write('e', impatient), true)
    assert.deepEqual(await ids(), ['a', 'b', 'e'])
    await second.stop()
  })

  it('is locked before a write that begins with comments, so that later transactions succeed', async () => {
    const impatient = await boot({ DB_STATEMENT_TIMEOUT_MS: '100' })
    const tables = impatient.service(databaseService)
    other.exec('begin exclusive')
    const commented = sql`-- a note\n/* of ** two */ /**/ insert into notes values (${'g'})`
    await assert.rejects(commented.execute(tables.tables()), { code: 'DATABASE_UNAVAILABLE' })
    other.exec('commit')
    await tables.transaction((tx) => tx.insertInto('notes').values({ id: 'h' }).execute())
    await commented.execute(tables.tables())
    assert.deepEqual((await ids()).slice(-2), ['g', 'h'])
    await impatient.stop()
  })

  it('makes migrations wait and log the reason', async () => {
    await sql`drop table notes`.execute(db.tables())
    await sql`delete from zin_migrations`.execute(db.tables())
    other.exec('begin exclusive')
    const log = memoryLogger()
    const starting = createDatabase({
      configs: [{ name: 'default', driver: 'sqlite', file: join(dir, 'app.db') }],
      known: () => [{ plugin: 'notes', migration: createNotes }],
      clock: systemClock,
      log,
      ...limits,
      connectTimeoutMs: 5000,
      acquireTimeoutMs: 5000,
      statementTimeoutMs: 100,
    })
    await starting.connect()
    const migrated = starting.migrations.up()
    while (!/waiting for another process that has locked the database file/.test(log.text())) await setImmediate()
    assert.match(log.text(), /app\.db/)
    other.exec('commit')
    assert.deepEqual(
      (await migrated).map(({ id, status }) => [id, status]),
      [['0001_create_notes', 'done']],
    )
    assert.equal(await write('f', starting), true)
    await starting.close()
  })
})

it('a statement waits for all earlier transactions of the process together no longer than DB_ACQUIRE_TIMEOUT_MS', async (t) => {
  const host = await createTestHost({ plugins: [database(), notes()], env: { DB_ACQUIRE_TIMEOUT_MS: '5000' } })
  const db = host.service(databaseService)
  let now = systemClock.monotonic()
  t.mock.method(systemClock, 'monotonic', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const pass = (ms: number): void => {
    now += ms
    t.mock.timers.tick(ms)
  }
  const ends: (() => void)[] = []
  const transactions = [1, 2].map(() => db.transaction(() => new Promise<void>((resolve) => ends.push(resolve))))
  while (ends.length < 1) await setImmediate()
  const statement = sql`select id from notes`.execute(db.tables())
  const refused = assert.rejects(statement, { code: 'DATABASE_BUSY' })
  await setImmediate()
  pass(4000)
  ends[0]?.()
  while (ends.length < 2) await setImmediate()
  pass(4000)
  ends[1]?.()
  await Promise.all(transactions)
  await refused
  t.mock.timers.reset()
  await host.stop()
})
