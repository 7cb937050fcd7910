import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import { CompiledQuery, type Kysely, sql } from 'kysely'
import { database, databaseService } from 'zin/plugins/database'
import { createTestHost, type TestHost } from 'zin/testing'
import fc from '../../scripts/testing/properties.js'
import { builtInBinding, type LoadedBinding, loadBinding, type SqliteBinding, standIn } from './binding.js'
import { openSqlite, type SqliteDatabase } from './open.js'
import { fileOfLibsql } from './testing/libsql-file.js'

const bindings: readonly LoadedBinding[] = [
  { binding: createRequire(import.meta.url)(standIn) as SqliteBinding, isStandIn: true },
  ...[builtInBinding()].flatMap((binding) => (binding ? [{ binding, isStandIn: false }] : [])),
]

const wellFormed = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, '\ufffd')
const surrogate = fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => String.fromCharCode(unit))
const anyText = fc.array(fc.oneof(fc.string({ unit: 'binary' }), surrogate), { maxLength: 5 }).map((parts) => parts.join(''))
const tiny = fc.double({ min: 0, max: Number.EPSILON, noNaN: true })

const exact = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value)
const year = (min: number, max: number): fc.Arbitrary<Date> => {
  const [from = '', to = ''] = [min, max].map((one) => (one > 9999 ? `+${String(one).padStart(6, '0')}` : String(one).padStart(4, '0')))
  return fc.date({ min: new Date(`${from}-01-01T00:00:00.000Z`), max: new Date(`${to}-12-31T23:59:59.999Z`), noInvalidDate: true })
}

/** Values that can be bound, and what is read. */
const accepted: fc.Arbitrary<readonly [unknown, unknown]> = fc.oneof(
  fc.boolean().map((value) => [value, value ? 1 : 0] as const),
  fc.constant([null, null] as const),
  anyText.filter((text) => !text.includes('\0')).map((text) => [text, wellFormed(text)] as const),
  fc.oneof(fc.double({ noNaN: true }), fc.integer(), fc.maxSafeInteger(), tiny).map((value) => [value, value + 0] as const),
  fc
    .oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.maxSafeInteger().map(BigInt))
    .map((value) => [value, exact(value)] as const),
  fc.uint8Array().map((bytes) => [bytes, bytes] as const),
  fc.uint8Array().map((bytes) => [Buffer.from(bytes), bytes] as const),
  fc.uint16Array().map((words) => [words, new Uint8Array(words.buffer)] as const),
  fc.uint8Array().map((bytes) => [bytes.slice().buffer, bytes] as const),
  year(0, 9999).map((time) => [time, time.toISOString().slice(0, -1).replace('T', ' ')] as const),
)

/** Values that are refused. */
const refused: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(undefined, Number.NaN, Symbol('s'), () => 1, {}, [], [1], new Map(), Object.create(null), Object(true), Object('x')),
  fc.constant(new Date(Number.NaN)),
  year(10_000, 20_000),
  fc.object(),
  fc.bigInt({ min: 2n ** 63n }),
  fc.bigInt({ max: -(2n ** 63n) - 1n }),
  anyText.map((text) => `${text}\0`),
)

/** SQL with a text that may not be UTF-8, or have a lone surrogate or NUL; a name that is not well-formed; a large integer; and broken SQL. */
const stored: fc.Arbitrary<string> = fc.oneof(
  fc.uint8Array().map((bytes) => `select cast(x'${Buffer.from(bytes).toString('hex')}' as text) as v`),
  anyText.map((text) => `select json_extract('${JSON.stringify(text).replaceAll("'", "''")}', '$') as v`),
  fc.tuple(fc.nat(9), fc.nat(9)).map(([from, length]) => `select cast(substr(cast('é🦊é' as blob), ${from}, ${length}) as text) as v`),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => `select ${value} as v`),
  anyText.map((text) => `select 1 as "${text.replaceAll('"', '""')}"`),
  anyText,
)

const hasCode = (error: unknown): boolean =>
  typeof (error as { code?: unknown }).code === 'string' && (error as { code: string }).code !== ''

for (const loaded of bindings) {
  describe(`a SQLite file opened with ${loaded.isStandIn ? standIn : 'node:sqlite'}`, () => {
    let file: SqliteDatabase
    before(() => {
      file = openSqlite(':memory:', loaded)
      file.exec('create table t (id integer primary key, v)')
    })
    after(() => file.close())
    const read = (text: string, ...values: readonly unknown[]) => Object.values(file.prepare(text).all(values)[0] ?? {})

    it('returns every value that it takes as it was, with documented conversions', () => {
      fc.assert(
        fc.property(fc.array(accepted, { minLength: 1, maxLength: 9 }), (pairs) => {
          const values = pairs.map(([value]) => value)
          const expected = pairs.map(([, value]) => value)
          assert.deepEqual(read(`select ${pairs.map((_, index) => `? as v${index}`).join(', ')}`, ...values), expected)
          file.exec('delete from t')
          for (const value of values) file.prepare('insert into t (v) values (?)').run([value])
          assert.deepEqual(
            file.prepare('select v from t order by id').all([]),
            expected.map((v) => ({ v })),
          )
        }),
        { numRuns: 300 },
      )
    })

    it('refuses every other value with a code, and says which parameter and why', () => {
      fc.assert(
        fc.property(refused, fc.nat(3), (value, before) => {
          const values = [...Array<number>(before).fill(1), value]
          const statement = file.prepare(`select ${values.map(() => '?').join(', ')}`)
          const isRefusal = (error: unknown): boolean => hasCode(error) && String(error).includes(`Parameter ${before + 1} is `)
          for (const run of ['all', 'run', 'iterate', 'arrays'] as const) {
            assert.throws(() => {
              const result = statement[run](values)
              if (Symbol.iterator in result) for (const _row of result);
            }, isRefusal)
          }
        }),
        { numRuns: 300 },
      )
    })

    it('returns rows or throws an error with a code, whatever is stored and whatever the SQL is', () => {
      fc.assert(
        fc.property(stored, (text) => {
          try {
            const value = file.prepare(text).all([])[0]?.v
            if (typeof value === 'string') assert.equal(value, wellFormed(value))
          } catch (error) {
            assert.ok(hasCode(error), String(error))
          }
        }),
        { numRuns: 1000 },
      )
    })

    it('refuses SQL without a statement, and survives the collection of every statement', async () => {
      v8.setFlagsFromString('--expose-gc')
      const collect = runInNewContext('gc') as () => void
      const texts = ['', ' ', ';', ' ;; ', '-- a', '/* a', '/* a */ ;', '\ufeff', '\0', '\0select 1', 'select 1\0, 2']
      for (const text of texts) {
        assert.throws(() => file.prepare(text), { code: 'SQLITE_ERROR' }, JSON.stringify(text))
        assert.throws(() => file.prepare('slect'), { code: 'SQLITE_ERROR' })
        for (const _row of file.prepare('select 1 union select 2').iterate([])) break
        collect()
        await setImmediate()
      }
      assert.deepEqual(read(';/* a */ -- b\n select 1'), [1])
    })

    it('binds numbers as REAL and booleans as INTEGER, to placeholders of every kind', () => {
      const numbers = "select typeof(?) a, typeof(?) b, 7 / ? c, '?' d -- ?\n, ? || '' e"
      assert.deepEqual(read(numbers, 5, true, 2, 1e-300), ['real', 'integer', 3.5, '?', '1.0e-300'])
      const order = 'select ?2 a, ?1 b, ? c, typeof(?2) d, ?4 e'
      assert.deepEqual(read(order, 1, 2, 3, 1e-17), [2, 1, 3, 'real', 1e-17])
      assert.deepEqual(file.prepare('select v as n from t limit ? offset ?').all([0, 1]), [])
    })

    it('names its errors like SQLite', () => {
      file.exec('create table u (id integer primary key, a unique not null check (a > 0), b references u (id))')
      file.exec('insert into u (id, a) values (1, 1)')
      const cases: readonly (readonly [string, RegExp])[] = [
        ['insert into u (id, a) values (1, 2) returning a', /^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)$/],
        ['insert into u (id, a) values (1, 2)', /^SQLITE_CONSTRAINT_PRIMARYKEY$/],
        ['insert into u (a) values (1)', /^SQLITE_CONSTRAINT_UNIQUE$/],
        ['insert into u (a) values (null) returning a', /^SQLITE_CONSTRAINT_NOTNULL$/],
        ['insert into u (a) values (-1)', /^SQLITE_CONSTRAINT_CHECK$/],
        ['insert into u (a, b) values (7, 7)', /^SQLITE_CONSTRAINT_FOREIGNKEY$/],
        ['select * from nothing', /^SQLITE_ERROR$/],
        ['select abs(-9223372036854775808)', /^SQLITE_ERROR$/],
        ["select load_extension('x')", /^SQLITE_(ERROR|AUTH)$/],
      ]
      for (const [text, code] of cases) {
        assert.throws(
          () => {
            const statement = file.prepare(text)
            if (statement.reader) statement.all([])
            else statement.run([])
          },
          { code },
          text,
        )
      }
    })

    it('names the columns of a statement that runs again as they are now', () => {
      const changing = openSqlite(':memory:', loaded)
      changing.exec('create table t (a, b); insert into t values (1, 2)')
      for (const value of [1n, 1]) {
        const again = changing.prepare('select * from t where 1 = ?')
        const before = again.all([value])
        assert.deepEqual(changing.prepare('select ?, 7 / ?').all([value, value]), [{ '?': 1, '7 / ?': 7 }])
        changing.exec('alter table t add column c default 9; alter table t drop column a')
        assert.deepEqual([before, again.all([value]), [...again.iterate([value])]], [[{ a: 1, b: 2 }], [{ b: 2, c: 9 }], [{ b: 2, c: 9 }]])
        changing.exec('drop table t; create table t (a, b); insert into t values (1, 2)')
      }
      changing.close()
    })

    it('keeps a column named __proto__, and the last one of two with the same name', () => {
      const [row] = file.prepare('select 1 as "__proto__", 2 as a, 3 as a').all([])
      assert.deepEqual(Object.entries(row ?? {}), [
        ['__proto__', 1],
        ['a', 3],
      ])
      assert.equal(Object.getPrototypeOf(row), Object.prototype)
    })

    it('reads a file that libsql wrote, with its write-ahead log and a text that is not UTF-8, and writes to it', async (t) => {
      const dir = await mkdtemp(join(tmpdir(), 'zin-libsql-'))
      t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }))
      for (const [name, bytes] of Object.entries(fileOfLibsql())) await writeFile(join(dir, name), bytes)
      const old = openSqlite(join(dir, 'app.db'), loaded)
      const notes = old.prepare("select * from notes where id not in ('nul') order by rowid").all([])
      assert.deepEqual(notes, [
        { id: 'first', n: 7, r: 7, t: 'é🦊', b: Uint8Array.of(0, 255, 1), any: 7 },
        { id: 'numbers', n: 2n ** 53n + 1n, r: 1.5, t: '1.0', b: null, any: 1 },
        { id: 'later', n: -1, r: 1e-17, t: 'in the log', b: Uint8Array.of(120), any: 'text' },
        { id: 'not utf-8', n: null, r: null, t: 'a\ufffdb', b: null, any: null },
      ])
      assert.deepEqual(old.prepare('pragma journal_mode').all([]), [{ journal_mode: 'wal' }])
      old.prepare('insert into notes (id, n) values (?, ?)').run(['new', 9007199254740993n])
      assert.deepEqual(old.prepare("select cast(n as text) as n from notes where id in ('new', 'numbers')").all([]), [
        { n: '9007199254740993' },
        { n: '9007199254740993' },
      ])
      old.close()
      const again = openSqlite(join(dir, 'app.db'), loaded)
      assert.deepEqual(again.prepare('select count(*) as n from notes').all([]), [{ n: 6 }])
      again.close()
    })
  })
}

describe('a value for a table of SQLite', () => {
  let host: TestHost
  let tables: Kysely<{ notes: { id: string; v: unknown } }>
  before(async () => {
    host = await createTestHost({ plugins: [database()] })
    tables = host.service(databaseService).tables()
    await sql`create table notes (id text primary key, v)`.execute(tables)
  })
  after(() => host.stop())

  it('is stored, or refused with a code that tells a text from a mistake of the program', async () => {
    const value = fc.oneof(
      accepted.map(([one, read]) => ({ one, read, taken: true })),
      refused.map((one) => ({ one, read: undefined, taken: false })),
    )
    const run = (text: string, parameters: readonly unknown[]) => tables.executeQuery(CompiledQuery.raw(text, [...parameters]))
    await fc.assert(
      fc.asyncProperty(value, async ({ one, read, taken }) => {
        const stored = run('replace into notes (id, v) values (?, ?)', ['a', one])
        if (taken) {
          await stored
          assert.deepEqual(await tables.selectFrom('notes').select('v').execute(), [{ v: read }])
          return
        }
        const expected = typeof one === 'string' ? { code: 'DATABASE_TEXT', status: 400 } : { code: 'DATABASE_VALUE', status: 500 }
        await assert.rejects(stored, expected)
        await assert.rejects(run('select v from notes where v = ?', [one]), expected)
      }),
      { numRuns: 300 },
    )
  })

  it('is refused in a stream and in a transaction, too', async () => {
    const expected = { code: 'DATABASE_TEXT' }
    const lookUp = tables.selectFrom('notes').selectAll().where('id', '=', 'a\0b')
    await assert.rejects(async () => {
      for await (const _row of lookUp.stream());
    }, expected)
    const insert = tables.transaction().execute(async (tx) => {
      await tx.insertInto('notes').values({ id: 'first', v: 1 }).execute()
      await tx.insertInto('notes').values({ id: 'a\0b', v: 1 }).execute()
    })
    await assert.rejects(insert, expected)
    assert.deepEqual(await tables.selectFrom('notes').select('id').where('id', '=', 'first').execute(), [])
  })

  it('is not in the message of a refusal', async () => {
    const secret = tables.insertInto('notes').values({ id: 'canary\0secret', v: 1 })
    await assert.rejects(secret.execute(), (error) => !String(error).includes('canary') && /parameter 1 .* NUL/.test(String(error)))
    const list = tables.insertInto('notes').values({ id: 'canary', v: ['canary'] })
    await assert.rejects(
      list.execute(),
      (error) => !String(error).includes('canary') && /parameter 2 of "insert into .* is an array; pass its values/.test(String(error)),
    )
  })
})

it('SQLite is loaded without a warning', (t) => {
  const warned = t.mock.method(process, 'emitWarning', () => undefined)
  loadBinding()
  assert.equal(warned.mock.callCount(), 0)
})
