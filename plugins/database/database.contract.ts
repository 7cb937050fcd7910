import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Migration, systemClock } from 'zin'
import { memoryLogger } from 'zin/testing'
import type { ConnectionConfig } from './connections/config.js'
import { defineMigration } from './migrator/migration.js'
import type { Migrations } from './migrator/migrations.js'
import { createMigrator } from './migrator/migrator.js'
import { createDatabase, type OwnedDatabase } from './service.js'
import { deleteBefore, inList, upsertRows } from './sql-tools.js'

interface Notes {
  readonly notes: { readonly id: string; readonly title: string; readonly at: number }
}

export interface ContractStore {
  readonly config: ConnectionConfig
  /** Whether it has interactive transactions. Default true. */
  readonly transactions?: boolean
  clean(): Promise<void>
}

const createNotes = defineMigration({
  id: '0001_create_notes',
  up: (db) =>
    db.schema
      .createTable('notes')
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('title', 'varchar(200)', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute(),
  down: (db) => db.schema.dropTable('notes').ifExists().execute(),
})
const broken = defineMigration({
  id: '0002_broken',
  up: () => Promise.reject(new Error('this step cannot work')),
  down: () => Promise.resolve(),
})
const createTags = defineMigration({
  id: '0001_create_tags',
  up: (db) =>
    db.schema
      .createTable('tags')
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .execute(),
  down: (db) => db.schema.dropTable('tags').execute(),
})
const never = defineMigration({ id: '0003_never', up: () => Promise.reject(new Error('must not run')), down: () => Promise.resolve() })

/** Statement timeouts for tests of other behavior, in ms. */
export const limits = { statementTimeoutMs: 5000, migrationTimeoutMs: 60_000 }

/** The behavior of every backend. */
export function databaseContract(name: string, makeStore: () => Promise<ContractStore>): void {
  describe(`database on ${name}`, () => {
    let store: ContractStore
    let database: OwnedDatabase
    const log = memoryLogger()
    const open = (acquireTimeoutMs = 5000): OwnedDatabase =>
      createDatabase({ configs: [store.config], clock: systemClock, log, connectTimeoutMs: 5000, acquireTimeoutMs, ...limits })
    const migratorOf = (owner: OwnedDatabase, known: readonly (readonly [string, Migration])[]): Migrations =>
      createMigrator({
        connection: owner.main,
        known: () => known.map(([plugin, migration]) => ({ plugin, migration })),
        clock: systemClock,
        log,
      })
    const notes = () => database.tables<Notes>()

    before(async () => {
      store = await makeStore()
      database = open()
    })
    after(async () => {
      await database.close()
      await store.clean()
    })

    it('reports that it is not open before connect', () => {
      assert.equal(database.connected, false)
      assert.throws(() => database.tables(), { code: 'DATABASE_NOT_STARTED' })
    })

    it('ignores a second connect, and reports a ping in whole milliseconds', async () => {
      await Promise.all([database.connect(), database.connect()])
      await database.connect()
      assert.equal(database.connected, true)
      assert.ok(Number.isInteger(await database.ping()))
      await assert.rejects(database.ping(AbortSignal.abort()), { name: 'AbortError' })
    })

    it('applies each migration once when two processes migrate at the same time', async () => {
      const other = open()
      await other.connect()
      const known = [['notes', createNotes]] as const
      const results = await Promise.all([migratorOf(database, known).up(), migratorOf(other, known).up()])
      await other.close()
      assert.deepEqual(
        results.flat().map(({ plugin, id, direction, status }) => [plugin, id, direction, status]),
        [['notes', '0001_create_notes', 'up', 'done']],
      )
      assert.deepEqual(
        (await migratorOf(database, known).status()).map(({ id, status, batch }) => [id, status, batch]),
        [['0001_create_notes', 'applied', 1]],
      )
    })

    it('reports a failing migration with its plugin, skips the rest of that plugin, and continues with others', async () => {
      const known = [
        ['notes', createNotes],
        ['notes', broken],
        ['notes', never],
        ['tags', createTags],
      ] as const
      const results = await migratorOf(database, known).up()
      assert.deepEqual(
        results.map(({ plugin, id, status, error }) => [plugin, id, status, error]),
        [
          ['notes', '0002_broken', 'failed', 'this step cannot work'],
          ['notes', '0003_never', 'skipped', undefined],
          ['tags', '0001_create_tags', 'done', undefined],
        ],
      )
    })

    it('warns once about an applied migration that no longer exists in the code, and does not undo it', async () => {
      const migrator = migratorOf(database, [
        ['tags', createTags],
        ['notes', broken],
      ])
      await migrator.up()
      await migrator.up()
      const warnings = log.lines.filter((line) => line.level === 'warn' && line.migration === '0001_create_notes')
      assert.equal(warnings.length, 1)
      const undone = await migrator.down('all')
      assert.deepEqual(
        undone.map(({ id, status }) => [id, status]),
        [
          ['0001_create_tags', 'done'],
          ['0001_create_notes', 'failed'],
        ],
      )
      assert.match(undone[1]?.error ?? '', /Migration 0001_create_notes .* no longer exists in the code/)
    })

    it('undoes the last batch, and applies it again', async () => {
      const migrator = migratorOf(database, [
        ['notes', createNotes],
        ['tags', createTags],
      ])
      await migrator.up()
      const undone = await migrator.down('batch')
      assert.deepEqual(
        undone.map(({ id, direction, status }) => [id, direction, status]),
        [['0001_create_tags', 'down', 'done']],
      )
      assert.deepEqual(
        (await migrator.status()).map(({ status }) => status),
        ['applied', 'pending'],
      )
      assert.deepEqual(await migrator.down({ steps: 1 }, { plugins: ['tags'] }), [])
      assert.deepEqual(
        (await migrator.up({ plugins: ['tags'] })).map(({ id }) => id),
        ['0001_create_tags'],
      )
    })

    it('upsert inserts a new key and updates the other columns of an existing one', async () => {
      await database.upsert('notes', ['id'], { id: 'a', title: 'first', at: 1_700_000_000_000 })
      await database.upsert('notes', ['id'], { id: 'a', title: "it's ünïcode 🎈", at: 1_700_000_000_001 })
      assert.deepEqual(await notes().selectFrom('notes').selectAll().execute(), [
        { id: 'a', title: "it's ünïcode 🎈", at: 1_700_000_000_001 },
      ])
      await database.upsert('tags', ['id'], { id: 't' })
      await database.upsert('tags', ['id'], { id: 't' })
    })

    it('insertIfAbsent looks at the named key, and without one, as before, at any', async () => {
      const tables = () => database.tables<{ pairs: { id: string; code: string } }>()
      await tables()
        .schema.createTable('pairs')
        .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
        .addColumn('code', 'varchar(36)', (column) => column.notNull().unique())
        .execute()
      try {
        const add = (key: readonly string[], id: string, code: string) => database.insertIfAbsent('pairs', key, { id, code })
        assert.equal(await add(['id'], 'a', 'first'), true)
        assert.equal(await add(['id'], 'a', 'first'), false)
        assert.equal(await add(['id', 'code'], 'a', 'first'), false)
        assert.equal(await add(['code'], 'b', 'first'), false)
        await assert.rejects(add(['id'], 'b', 'first'), (error) => database.isUniqueViolation(error))
        assert.equal(await database.insertIfAbsent('pairs', { id: 'b', code: 'first' }), false)
        assert.equal(await database.insertIfAbsent('pairs', { id: 'b', code: 'second' }, 'default'), true)
        assert.equal(await database.insertIfAbsent('pairs', ['id'], { id: 'c', code: 'third' }, 'default'), true)
      } finally {
        await tables().schema.dropTable('pairs').execute()
      }
    })

    it('insertIfAbsent lets exactly one of 20 concurrent inserts win, and does not swallow other errors', async () => {
      const won = await Promise.all(
        Array.from({ length: 20 }, (_, i) => database.insertIfAbsent('notes', ['id'], { id: 'race', title: `t${i}`, at: i })),
      )
      assert.equal(won.filter(Boolean).length, 1)
      await assert.rejects(database.insertIfAbsent('notes', ['id'], { id: 'other', title: null, at: 1 }))
    })

    it('recognizes unique violations only', async () => {
      const again = notes().insertInto('notes').values({ id: 'a', title: 'x', at: 1 }).execute()
      const error = await again.then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      assert.equal(database.isUniqueViolation(error), true)
      assert.equal(database.isUniqueViolation(new Error('wrapped', { cause: error })), true)
      assert.equal(database.isUnavailable(error), false)
      const syntax = await notes()
        .selectFrom('nothing' as 'notes')
        .selectAll()
        .execute()
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
      assert.equal(database.isUniqueViolation(syntax), false)
      assert.equal(database.isUnavailable(syntax), false)
    })

    it('keeps all writes of a batch or none, and returns the result of each query', async () => {
      const add = (id: string) => notes().insertInto('notes').values({ id, title: 'x', at: 1 })
      await assert.rejects(database.batch([add('b1'), add('b2'), add('b1')]), (error) => database.isUniqueViolation(error))
      const written = notes().selectFrom('notes').select(['id', 'at']).where('id', 'in', ['b1', 'b2']).orderBy('id')
      assert.deepEqual(await written.execute(), [])
      const results = await database.batch([
        add('b1'),
        add('b2'),
        notes().updateTable('notes').set({ at: 7 }).where('id', '=', 'b2'),
        written,
        notes().deleteFrom('notes').where('id', 'in', ['b1', 'b2']),
      ])
      assert.deepEqual(
        results.map(({ rows, numAffectedRows }) => (rows.length > 0 ? rows : numAffectedRows)),
        [
          1n,
          1n,
          1n,
          [
            { id: 'b1', at: 1 },
            { id: 'b2', at: 7 },
          ],
          2n,
        ],
      )
      assert.deepEqual(await database.batch([]), [])
    })

    it('writes and reads more values than one statement allows', async () => {
      const rows = Array.from({ length: 300 }, (_, i) => ({ id: `many-${i}`, title: `t${i}`, at: 2 ** 40 + i }))
      await upsertRows(notes(), { table: 'notes', key: ['id'], rows, existing: 'replace' })
      await upsertRows(notes(), { table: 'notes', key: ['id'], rows: rows.map((row) => ({ ...row, at: row.at + 1 })), existing: 'replace' })
      const ids = rows.map(({ id }) => id)
      const listed = await notes()
        .selectFrom('notes')
        .select(['id', 'at'])
        .where(await inList(notes(), 'id', ids))
        .execute()
      assert.deepEqual([listed.length, Math.min(...listed.map(({ at }) => at))], [300, 2 ** 40 + 1])
      const numbers = rows.map(({ at }) => at + 1)
      const byNumber = await notes()
        .selectFrom('notes')
        .select('id')
        .where(await inList(notes(), 'at', numbers))
        .execute()
      assert.equal(byNumber.length, 300)
      assert.equal(await deleteBefore(notes(), { table: 'notes', key: ['id'], column: 'at', before: 2 ** 50 }), false)
      assert.deepEqual(await notes().selectFrom('notes').select('id').execute(), [])
      await database.upsert('notes', ['id'], { id: 'a', title: 'a', at: 1 })
    })

    it('keeps writes of a transaction only when it commits', async () => {
      if (store.transactions === false) {
        await assert.rejects(
          database.transaction(() => assert.fail('it began')),
          { code: 'DATABASE_NO_TRANSACTIONS', message: /Use batch\(\)/ },
        )
        return
      }
      const failing = notes()
        .transaction()
        .execute(async (tx) => {
          await tx.insertInto('notes').values({ id: 'gone', title: 'x', at: 1 }).execute()
          throw new Error('no')
        })
      await assert.rejects(failing, { message: 'no' })
      assert.deepEqual(await notes().selectFrom('notes').select('id').where('id', '=', 'gone').execute(), [])
      let times = 0
      const once = database.transaction(() => Promise.reject(new Error(`no ${++times}`)))
      await assert.rejects(once, { message: 'no 1' })
      await database.transaction<unknown, Notes>((tx) => tx.insertInto('notes').values({ id: 'kept', title: 'x', at: 1 }).execute())
      assert.equal((await notes().selectFrom('notes').select('id').where('id', '=', 'kept').execute()).length, 1)
    })

    it('stops waiting for a connection at the deadline, and works again once one is free', async () => {
      if (store.transactions === false) return
      const impatient = open(300)
      await impatient.connect()
      const notes = () => impatient.tables<Notes>()
      let free: () => void = () => undefined
      const held = new Promise<void>((resolve) => {
        free = resolve
      })
      const holders = Array.from({ length: 'poolLimit' in store.config ? store.config.poolLimit : 1 }, () =>
        notes()
          .transaction()
          .execute(() => held),
      )
      const error = await notes()
        .selectFrom('notes')
        .select('id')
        .execute()
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
      assert.equal((error as { code?: string }).code, 'DATABASE_BUSY')
      assert.equal(impatient.isUnavailable(error), true)
      assert.ok(Number.isInteger(await impatient.ping()), 'a busy pool does not look like a broken server')
      free()
      await Promise.all(holders)
      assert.ok((await notes().selectFrom('notes').select('id').execute()).length > 0)
      await impatient.close()
    })

    it('refuses a query outside of the transaction that it runs in at once, where that would wait for itself', async () => {
      if (store.transactions === false) return
      const one = store.config.driver === 'sqlite'
      const read = () => notes().selectFrom('notes').select('id').execute()
      const codeOf = (query: Promise<unknown>) =>
        query.then(
          () => undefined,
          ({ code }: { readonly code?: string }) => code,
        )
      let background: Promise<unknown> = Promise.resolve()
      const codes = await database.transaction(async (tx) => {
        await tx.selectFrom('notes').select('id').execute()
        const inside = [
          await codeOf(read()),
          await codeOf(database.transaction(() => read())),
          await codeOf(database.batch([notes().selectFrom('notes').select('id')])),
        ]
        // Not awaited, so it waits for the end of the transaction.
        background = read()
        return [database.inOwnTransaction(), ...inside]
      })
      const own = one ? 'DATABASE_OWN_TRANSACTION' : undefined
      assert.deepEqual(codes, [one, own, own, own])
      await background
      assert.equal(database.inOwnTransaction(), false)
      await read()
    })

    it('refuses calls after close', async () => {
      await database.close()
      assert.equal(database.connected, false)
      assert.throws(() => database.tables(), { code: 'DATABASE_NOT_STARTED' })
    })
  })
}
