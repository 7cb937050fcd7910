import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { WireParam } from 'zin/plugins/sql-wire'
import { onMysql } from '../../scripts/testing/mysql-database.js'
import fc from '../../scripts/testing/properties.js'
import { openAdmin, openRdb, type RdbUnderTest } from './testing/rdb.js'
import { sendWire } from './testing/wire.js'

const table = `types_${randomUUID().slice(0, 8)}`

interface Kind {
  readonly column: string
  readonly type: string
  /** Values to send, and expected results. */
  readonly values: fc.Arbitrary<readonly [WireParam, unknown]>
  /** Edge cases that random values may miss. */
  readonly edges: readonly (readonly [WireParam, unknown])[]
}

const same = <T extends WireParam>(values: fc.Arbitrary<T>): fc.Arbitrary<readonly [WireParam, unknown]> =>
  values.map((value) => [value, value])
const each = (...values: readonly (string | number)[]): readonly (readonly [WireParam, unknown])[] => values.map((value) => [value, value])
const integer = (min: number, max: number) => same(fc.integer({ min, max }))
const tagged = (
  $type: 'int64' | 'uint64' | 'decimal' | 'date' | 'time' | 'datetime' | 'timestamp',
  value: string,
): readonly [WireParam, unknown] => [{ $type, value }, value]
const blob = (bytes: Uint8Array): readonly [WireParam, unknown] => {
  const base64 = Buffer.from(bytes).toString('base64')
  return [{ $type: 'blob', base64 }, base64]
}
const bigs = ($type: 'int64' | 'uint64', min: bigint, max: bigint) => fc.bigInt({ min, max }).map((value) => tagged($type, String(value)))
const two = (value: number): string => String(value).padStart(2, '0')
const digits = (value: number, length: number): string => String(value).padStart(length, '0')
const clock = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 59 }))
const day = fc
  .tuple(fc.integer({ min: 1000, max: 9999 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 28 }))
  .map(([y, m, d]) => `${y}-${two(m)}-${two(d)}`)
const micros = fc.integer({ min: 0, max: 999_999 })
// Any Unicode character.
const text = fc.string({ unit: 'binary', maxLength: 30 })

const kinds: readonly Kind[] = [
  { column: 'tinyint', type: 'int32', values: integer(-128, 127), edges: each(-128, 127) },
  { column: 'tinyint unsigned', type: 'int32', values: integer(0, 255), edges: each(0, 255) },
  { column: 'smallint', type: 'int32', values: integer(-32_768, 32_767), edges: each(-32_768, 32_767) },
  { column: 'mediumint unsigned', type: 'int32', values: integer(0, 16_777_215), edges: each(16_777_215) },
  { column: 'mediumint', type: 'int32', values: integer(-8_388_608, 8_388_607), edges: each(-8_388_608, 8_388_607) },
  { column: 'int', type: 'int32', values: integer(-2_147_483_648, 2_147_483_647), edges: each(-2_147_483_648, 2_147_483_647) },
  { column: 'int unsigned', type: 'int32', values: integer(0, 4_294_967_295), edges: each(4_294_967_295) },
  { column: 'year', type: 'int32', values: integer(1901, 2155), edges: each(0, 1901, 2155) },
  {
    column: 'bigint',
    type: 'int64',
    values: bigs('int64', -(2n ** 63n), 2n ** 63n - 1n),
    edges: ['-9223372036854775808', '9223372036854775807', '9007199254740993', '0'].map((value) => tagged('int64', value)),
  },
  {
    column: 'bigint unsigned',
    type: 'uint64',
    values: bigs('uint64', 0n, 2n ** 64n - 1n),
    edges: ['18446744073709551615', '9223372036854775808'].map((value) => tagged('uint64', value)),
  },
  {
    column: 'decimal(34,4)',
    type: 'decimal',
    values: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map((value) => tagged('decimal', `${value}.0100`)),
    edges: [tagged('decimal', '123456789012345678901234567890.1234'), tagged('decimal', '-0.0001')],
  },
  {
    column: 'double',
    type: 'float64',
    values: doubles(),
    edges: [real(Number.MAX_VALUE), real(Number.MIN_VALUE), real(-1e300), real(0.1)],
  },
  {
    column: 'float',
    type: 'float32',
    values: fc
      .float({ noNaN: true, noDefaultInfinity: true })
      .filter(isNormal)
      .map((value) => real(value)),
    edges: [real(Math.fround(1.1))],
  },
  {
    column: 'date',
    type: 'date',
    values: day.map((value) => tagged('date', value)),
    edges: [tagged('date', '0000-00-00'), tagged('date', '9999-12-31')],
  },
  {
    column: 'datetime',
    type: 'datetime',
    values: fc.tuple(day, clock).map(([d, [h, m, s]]) => tagged('datetime', `${d} ${two(h)}:${two(m)}:${two(s)}`)),
    edges: [tagged('datetime', '0000-00-00 00:00:00'), tagged('datetime', '2024-02-29 23:59:59')],
  },
  {
    column: 'datetime(6)',
    type: 'datetime',
    values: fc
      .tuple(day, clock, micros)
      .map(([d, [h, m, s], u]) => tagged('datetime', `${d} ${two(h)}:${two(m)}:${two(s)}.${digits(u, 6)}`)),
    edges: [tagged('datetime', '2024-02-29 23:59:59.120000'), tagged('datetime', '2024-02-29 00:00:00.000000')],
  },
  {
    column: 'timestamp(3) null',
    type: 'timestamp',
    values: fc
      .integer({ min: 1, max: 2_147_483_000 })
      .map((s) => tagged('timestamp', `${new Date(s * 1000).toISOString().slice(0, 19).replace('T', ' ')}.500`)),
    edges: [tagged('timestamp', '2038-01-19 03:14:07.999'), tagged('timestamp', '0000-00-00 00:00:00.000')],
  },
  {
    column: 'time',
    type: 'time',
    values: clock.map(([h, m, s]) => tagged('time', `${two(h)}:${two(m)}:${two(s)}`)),
    edges: ['-838:59:59', '838:59:59', '00:00:00', '-00:00:01'].map((value) => tagged('time', value)),
  },
  {
    column: 'time(6)',
    type: 'time',
    values: fc.tuple(clock, micros).map(([[h, m, s], u]) => tagged('time', `${two(h)}:${two(m)}:${two(s)}.${digits(u, 6)}`)),
    edges: ['00:00:00.000000', '-12:00:00.500000', '01:02:03.000001'].map((value) => tagged('time', value)),
  },
  { column: 'varchar(200)', type: 'text', values: same(text), edges: each('', 'a\'b"c`d\\e?;--', 'ünïcode 🦆', '\u0000\u0001', 'null') },
  { column: 'text', type: 'text', values: same(text), edges: each('', ' spaces ') },
  { column: "enum('a','b c')", type: 'text', values: same(fc.constantFrom('a', 'b c')), edges: each('a') },
  { column: "set('x','y')", type: 'text', values: same(fc.constantFrom('', 'x', 'y', 'x,y')), edges: each('x,y') },
  {
    column: 'varbinary(100)',
    type: 'blob',
    values: fc.uint8Array({ maxLength: 100 }).map(blob),
    edges: [blob(Uint8Array.of(0xff, 0xfe, 0, 0x80, 0xc0))],
  },
  {
    column: 'blob',
    type: 'blob',
    values: fc.uint8Array({ maxLength: 300 }).map(blob),
    edges: [blob(new Uint8Array(0)), blob(Uint8Array.of(0xed, 0xa0, 0x80))],
  },
  {
    column: 'bit(12)',
    type: 'bit',
    values: fc.integer({ min: 0, max: 4095 }).map((n) => blob(Uint8Array.of(n >> 8, n & 255))),
    edges: [blob(Uint8Array.of(15, 255))],
  },
  {
    column: 'json',
    type: 'json',
    // MySQL stores a document in its own form.
    values: onMysql ? same(fc.constantFrom('{"a": [1, "x"], "bc": {"d": null}}', '[]', '0.5')) : same(fc.json()),
    edges: onMysql
      ? [[{ $type: 'json', value: { a: [1] } }, '{"a": [1]}']]
      : [
          ['{"a": 12345678901234567890, "b":0.10}', '{"a": 12345678901234567890, "b":0.10}'],
          [{ $type: 'json', value: { a: [1] } }, '{"a":[1]}'],
        ],
  },
  { column: 'point', type: 'geometry', values: same(fc.constant(null)), edges: [[null, null]] },
]

function real(value: number): readonly [WireParam, unknown] {
  const isUnsafe = Number.isInteger(value) && !Number.isSafeInteger(value)
  return [isUnsafe ? { $type: 'real', value: String(value) } : value, value]
}

function isNormal(value: number): boolean {
  // Denormal numbers become zero in a FLOAT.
  return !Object.is(value, -0) && (value === 0 || Math.abs(value) > 1.2e-38)
}

function doubles() {
  return fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((value) => !Object.is(value, -0))
    .map(real)
}

describe('the types of the server', () => {
  let rdb: RdbUnderTest
  let admin: Awaited<ReturnType<typeof openAdmin>>
  before(async () => {
    admin = await openAdmin()
    await admin.run(
      `create table ${table} (id int primary key auto_increment, ${kinds.map(({ column }, at) => `c${at} ${column} ${column.includes('null') ? '' : 'null'}`).join(', ')})`,
    )
    rdb = await openRdb()
  })
  after(async () => {
    await rdb.close()
    await admin.run(`drop table ${table}`)
    await admin.close()
  })

  it('survive a round trip without loss', async () => {
    const rows = fc.sample(fc.tuple(...kinds.map(({ values }) => values)), { numRuns: 60, seed: 42 })
    const most = Math.max(...kinds.map(({ edges }) => edges.length))
    const extremes = Array.from({ length: most }, (_, row) =>
      kinds.map(({ edges }) => edges[row % edges.length] ?? ([null, null] as const)),
    )
    for (const row of [...extremes, ...rows, kinds.map(() => [null, null] as const)]) {
      const insert = {
        // The strict mode of the proxy also accepts zero dates.
        sql: `insert into ${table} (${kinds.map((_, at) => `c${at}`).join(', ')}) values (${kinds.map(() => '?').join(', ')})`,
        params: row.map(([sent]) => sent),
      }
      const added = await sendWire(rdb, 'exec', insert)
      assert.equal(added.status, 200, `${added.text} ${JSON.stringify(insert.params)}`)
      const { body } = await sendWire(rdb, 'queryOne', {
        sql: `select ${kinds.map((_, at) => `c${at}`).join(', ')} from ${table} where id = ?`,
        params: [{ $type: 'int64', value: added.body.lastInsertId }],
        options: { rowMode: 'array' },
      })
      row.forEach(([sent, expected], at) => {
        assert.deepEqual(body.row[at], expected, `${kinds[at]?.column}: ${JSON.stringify(sent)}`)
        assert.equal(body.columns[at].type, kinds[at]?.type, kinds[at]?.column)
      })
    }
  })

  it('compare exactly: 64-bit integers and decimals match only themselves', async () => {
    const column = (name: string): string => `c${kinds.findIndex((kind) => kind.column === name)}`
    const [big, decimal] = [column('bigint'), column('decimal(34,4)')]
    const digits = '123456789012345678901234567890.1234'
    await sendWire(rdb, 'exec', { sql: `delete from ${table}` })
    await sendWire(rdb, 'exec', { sql: `insert into ${table} (${big}, ${decimal}) values (9007199254740993, ${digits})` })
    const found = async (where: string, param: WireParam): Promise<number> =>
      (await sendWire(rdb, 'query', { sql: `select id from ${table} where ${where} = ?`, params: [param] })).body.rowCount
    assert.equal(await found(big, { $type: 'int64', value: '9007199254740993' }), 1)
    assert.equal(await found(big, { $type: 'int64', value: '9007199254740992' }), 0)
    assert.equal(await found(decimal, { $type: 'decimal', value: digits }), 1)
    assert.equal(await found(decimal, { $type: 'decimal', value: '123456789012345678901234567890.1235' }), 0)
  })

  it('are raw bytes for geometry, text for COUNT, and numbers with the encoding plain', async () => {
    const { body } = await sendWire(rdb, 'queryOne', { sql: "select st_geomfromtext('POINT(1 2)') as g, count(*) as n, sum(1.5) as s" })
    assert.equal(Buffer.from(body.row.g, 'base64').length, 25)
    if (onMysql) {
      const vector = (await sendWire(rdb, 'queryOne', { sql: "select to_vector('[1, 2]') as v" })).body.row.v
      assert.deepEqual(Buffer.from(vector, 'base64'), Buffer.from('0000803f00000040', 'hex'))
    }
    assert.deepEqual([body.row.n, body.row.s], ['1', '1.5'])
    const plain = await sendWire(rdb, 'queryOne', {
      sql: 'select 9007199254740993 as a, cast(7 as signed) as b, cast(7 as unsigned) as c, 1.5 as d, 1.50 as e',
      options: { encoding: 'plain' },
    })
    assert.deepEqual(plain.body.row, { a: '9007199254740993', b: 7, c: 7, d: 1.5, e: '1.50' })
  })
})
