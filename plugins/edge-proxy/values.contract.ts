import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { toBase64, type WireValue } from 'zin/plugins/sql-wire'
import fc from '../../scripts/testing/properties.js'
import type { EdgeClient } from './testing/edge-client.js'

const int64 = (value: bigint | string): WireValue => ({ $type: 'int64', value: String(value) })
const real = (value: string): WireValue => ({ $type: 'real', value })
const blob = (bytes: Uint8Array): WireValue => ({ $type: 'blob', base64: toBase64(bytes) })

/** Integers in wire format. */
const integer = (value: bigint): WireValue =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : int64(value)

/** Values that survive a round trip in any column. */
const value: fc.Arbitrary<WireValue> = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', '\u0000', 'a\u0000b', '\u0001', '\u0001i5', '\u0001x00', '🦊', '\ufeffbom', '1', '1.0', 'null', "'", '9e999'),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(integer),
  fc.constantFrom(0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)).map(integer),
  fc.uint8Array({ maxLength: 60 }).map(blob),
  fc.constantFrom(new Uint8Array(), new Uint8Array([0]), new Uint8Array([255, 254, 0, 195, 40])).map(blob),
  fc.constantFrom(real('Infinity'), real('-Infinity')),
)

/** Fractions, including the largest and smallest. */
const fraction = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Number.isInteger(number)),
  fc.constantFrom(5e-324, 0.1, -0.1, 1.5, 1e-7, 0.1 + 0.2, 4503599627370495.5),
)

/** Checks round trips of values through D1. */
export function describeValues(client: () => EdgeClient): void {
  describe('values', () => {
    before(async () => {
      const { status, text } = await client().call('exec', {
        sql: 'CREATE TABLE v (id INTEGER PRIMARY KEY, any, t TEXT, b BLOB, r REAL, i INTEGER)',
      })
      assert.equal(status, 200, text)
    })

    const throughTable = async (column: string, values: readonly unknown[]): Promise<readonly unknown[]> => {
      const statements = [
        { sql: 'DELETE FROM v' },
        ...values.map((one, index) => ({ sql: `INSERT INTO v (id, ${column}) VALUES (?, ?)`, params: [index, one] })),
        { sql: `SELECT ${column} FROM v ORDER BY id` },
      ]
      const { status, body, text } = await client().call('batch', { statements, options: { rowMode: 'array' } })
      assert.equal(status, 200, text)
      return body.results.at(-1).rows.map(([cell]: unknown[]) => cell)
    }

    it('of every type survive a round trip without loss', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.oneof(value, fraction), { minLength: 1, maxLength: 40 }), async (values) => {
          assert.deepEqual(await throughTable('any', values), values)
        }),
        { numRuns: 25 },
      )
    })

    it('keep the type they were sent with', async () => {
      const typed: readonly (readonly [unknown, string])[] = [
        [1, 'integer'],
        [true, 'integer'],
        [int64(2n ** 62n), 'integer'],
        [1.5, 'real'],
        [real('1e300'), 'real'],
        [real('-Infinity'), 'real'],
        ['1', 'text'],
        [blob(new Uint8Array([1])), 'blob'],
        [null, 'null'],
        [{ $type: 'decimal', value: '123456789012345678901234567890.1234' }, 'text'],
        [{ $type: 'datetime', value: '2024-02-29 23:59:59.123456' }, 'text'],
        [{ $type: 'json', value: { a: [1] } }, 'text'],
      ]
      const sql = `SELECT ${typed.map((_one, index) => `typeof(?) AS t${index}`).join(', ')}`
      const { body } = await client().call('queryOne', { sql, params: typed.map(([one]) => one), options: { rowMode: 'array' } })
      assert.deepEqual(
        body.row,
        typed.map(([, type]) => type),
      )
    })

    it('have the affinity of bound values: integers do not become "1.0", and integer division stays integer', async () => {
      assert.deepEqual(await throughTable('t', [1, int64(2n ** 60n), true]), ['1', String(2n ** 60n), '1'])
      const { body } = await client().call('queryOne', { sql: "SELECT 7 / ? AS q, ? = '1' AS e, ? || '' AS s", params: [2, 1, 3] })
      assert.deepEqual(body.row, { q: 3, e: 0, s: '3' })
      const page = await client().call('query', { sql: 'SELECT id FROM v ORDER BY id LIMIT ? OFFSET ?', params: [2, 1] })
      assert.deepEqual(page.body.rows, [{ id: 1 }, { id: 2 }])
    })

    it('of REAL are exact over the whole range; SQLite has no negative zero', async () => {
      const reals = [Number.MAX_VALUE, -Number.MAX_VALUE, 2 ** 53 + 2, 2 ** 62, -(2 ** 63), 1e300]
      assert.deepEqual(
        await throughTable(
          'r',
          reals.map((one) => real(String(one))),
        ),
        reals,
      )
      assert.deepEqual(await throughTable('r', [real('-0')]), [0])
    })

    it('arrive in the order of the query, each computed once', async () => {
      const numbers = "(SELECT value AS v FROM json_each('[3,1,2,5,4]'))"
      for (const [order, expected] of [
        ['ORDER BY v DESC', [5, 4, 3, 2, 1]],
        ['ORDER BY v LIMIT 3', [1, 2, 3]],
        ['WHERE v > 2 UNION ALL SELECT 9 ORDER BY v DESC LIMIT 2', [9, 5]],
        ['', [3, 1, 2, 5, 4]],
      ] as const) {
        const { body, text } = await client().call('query', { sql: `SELECT v FROM ${numbers} ${order}`, options: { rowMode: 'array' } })
        assert.deepEqual(body.rows?.flat(), expected, `${order}: ${text}`)
      }
      const random = "SELECT CASE abs(random()) % 2 WHEN 1 THEN 'text' ELSE char(0) || 'nul' END AS r FROM json_each(?)"
      const { body } = await client().call('query', { sql: random, params: [JSON.stringify(Array(200).fill(0))] })
      for (const { r } of body.rows) assert.ok(r === 'text' || r === '\u0000nul', JSON.stringify(r))
    })

    it('are bound to numbered placeholders by position', async () => {
      const { body } = await client().call('queryOne', { sql: "SELECT ?2 AS b, ?1 AS a, ?2 AS c, '?' AS q /* ? */", params: [1, 'x'] })
      assert.deepEqual(body.row, { b: 'x', a: 1, c: 'x', q: '?' })
    })
  })
}
