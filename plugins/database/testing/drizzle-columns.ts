import { type MySqlColumnBuilderBase, customType as mysqlCustomType } from 'drizzle-orm/mysql-core'
import type { MySqlColumnBuilders } from 'drizzle-orm/mysql-core/columns/all'
import { type SQLiteColumnBuilderBase, customType as sqliteCustomType } from 'drizzle-orm/sqlite-core'
import type { SQLiteColumnBuilders } from 'drizzle-orm/sqlite-core/columns/all'
import fc from '../../../scripts/testing/properties.js'
import { bigints, dateTime, day, decimals, doubles, moment, text, times } from './column-types.js'

/** A column of drizzle, with values that are read as they were written. */
export interface DrizzleColumn<Builders, Builder> {
  /** The function of drizzle, with its options as they are written. */
  readonly name: string
  readonly make: (columns: Builders) => Builder
  readonly values: fc.Arbitrary<unknown>
  readonly edges?: readonly unknown[]
  /** Default: what was written. */
  readonly read?: (written: never) => unknown
  readonly note?: string
  /** Whether it is a key: not null, and no value twice. Default false. */
  readonly isKey?: boolean
}

const integers = (min: number, max: number) => ({ values: fc.integer({ min, max }), edges: [min, max] })
const seconds = moment.map((time) => new Date(Math.floor(time.getTime() / 1000) * 1000))
const midnights = day.map((time) => new Date(`${dateTime(time, 0).slice(0, 10)}T00:00:00Z`))
const isNegativeZero = (value: unknown): boolean =>
  Object.is(value, -0) || (typeof value === 'object' && value !== null && Object.values(value).some(isNegativeZero))
/** JSON has no negative zero, and SQL none of its null. */
const documents = fc
  .jsonValue()
  .filter((value) => value !== null && !isNegativeZero(value))
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const bytes = { values: fc.uint8Array({ maxLength: 50 }).map((some) => Buffer.from(some)), edges: [Buffer.from([0, 49, 255, 128])] }
const toBuffer = (value: Uint8Array): Buffer => Buffer.from(value)
const bytesText = text.filter((value) => Buffer.byteLength(value) <= 60 && value === Buffer.from(value).toString())

export const drizzleMysqlColumns: readonly DrizzleColumn<MySqlColumnBuilders, MySqlColumnBuilderBase>[] = [
  { name: "bigint({ mode: 'number' })", make: (t) => t.bigint({ mode: 'number' }), values: fc.maxSafeInteger() },
  { name: "bigint({ mode: 'bigint' })", make: (t) => t.bigint({ mode: 'bigint' }), values: bigints, edges: [2n ** 63n - 1n, -(2n ** 63n)] },
  {
    name: "bigint({ mode: 'bigint', unsigned: true })",
    make: (t) => t.bigint({ mode: 'bigint', unsigned: true }),
    values: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    edges: [2n ** 64n - 1n],
  },
  {
    name: 'binary({ length: 60 })',
    make: (t) => t.binary({ length: 60 }),
    values: bytesText,
    edges: ['0110', 'hello', 'ünïcode 🦆'],
    read: (value: string) => value + '\0'.repeat(60 - Buffer.byteLength(value)),
    note: 'a text in UTF-8, filled up with NUL',
  },
  { name: 'boolean()', make: (t) => t.boolean(), values: fc.boolean() },
  { name: 'char({ length: 20 })', make: (t) => t.char({ length: 20 }), values: text, read: (value: string) => value.replace(/ +$/, '') },
  {
    name: 'customType(…)',
    make: () => mysqlCustomType<{ data: Buffer; driverData: Uint8Array }>({ dataType: () => 'blob', fromDriver: toBuffer })(),
    note: 'of a `blob`',
    ...bytes,
  },
  { name: "date({ mode: 'date' })", make: (t) => t.date({ mode: 'date' }), values: midnights },
  { name: "date({ mode: 'string' })", make: (t) => t.date({ mode: 'string' }), values: times.day },
  { name: "datetime({ mode: 'date', fsp: 3 })", make: (t) => t.datetime({ mode: 'date', fsp: 3 }), values: moment },
  {
    name: "datetime({ mode: 'string', fsp: 3 })",
    make: (t) => t.datetime({ mode: 'string', fsp: 3 }),
    values: moment.map((time) => dateTime(time, 3)),
  },
  { name: 'decimal({ precision: 38, scale: 10 })', make: (t) => t.decimal({ precision: 38, scale: 10 }), values: decimals },
  {
    name: "decimal({ mode: 'number' })",
    make: (t) => t.decimal({ mode: 'number', precision: 20, scale: 4 }),
    values: fc.integer().map((value) => value / 16),
  },
  { name: "decimal({ mode: 'bigint' })", make: (t) => t.decimal({ mode: 'bigint', precision: 30 }), values: bigints },
  { name: 'double()', make: (t) => t.double(), values: doubles, edges: [1e300, Number.MIN_VALUE] },
  { name: 'float()', make: (t) => t.float(), values: fc.integer({ min: -(2 ** 20), max: 2 ** 20 }).map((value) => value / 16) },
  { name: 'int()', make: (t) => t.int(), ...integers(-2_147_483_648, 2_147_483_647) },
  { name: 'json()', make: (t) => t.json(), values: documents, edges: ['text', '15', 15, false, []] },
  { name: 'longtext()', make: (t) => t.longtext(), values: text, edges: ['x'.repeat(60_000)] },
  { name: 'mediumint()', make: (t) => t.mediumint(), ...integers(-8_388_608, 8_388_607) },
  { name: 'mediumtext()', make: (t) => t.mediumtext(), values: text },
  { name: "mysqlEnum(['a', 'b c'])", make: (t) => t.mysqlEnum(['a', 'b c']), values: fc.constantFrom('a', 'b c') },
  { name: 'real()', make: (t) => t.real(), values: doubles },
  { name: 'serial()', make: (t) => t.serial(), values: fc.integer({ min: 1, max: 2 ** 31 }), isKey: true },
  { name: 'smallint()', make: (t) => t.smallint(), ...integers(-32_768, 32_767) },
  { name: 'text()', make: (t) => t.text(), values: text },
  { name: 'time({ fsp: 3 })', make: (t) => t.time({ fsp: 3 }), values: times.clock.map((time) => `${time}.120`) },
  { name: "timestamp({ mode: 'date', fsp: 3 })", make: (t) => t.timestamp({ mode: 'date', fsp: 3 }), values: moment },
  { name: "timestamp({ mode: 'date' })", make: (t) => t.timestamp({ mode: 'date' }), values: seconds },
  {
    name: "timestamp({ mode: 'string', fsp: 3 })",
    make: (t) => t.timestamp({ mode: 'string', fsp: 3 }),
    values: moment.map((time) => dateTime(time, 3)),
  },
  { name: 'tinyint()', make: (t) => t.tinyint(), ...integers(-128, 127) },
  { name: 'tinytext()', make: (t) => t.tinytext(), values: text },
  {
    name: 'varbinary({ length: 60 })',
    make: (t) => t.varbinary({ length: 60 }),
    values: bytesText,
    edges: ['0110'],
    note: 'a text in UTF-8',
  },
  { name: 'varchar({ length: 100 })', make: (t) => t.varchar({ length: 100 }), values: text },
  { name: 'year()', make: (t) => t.year(), ...integers(1901, 2155) },
]

export const drizzleSqliteColumns: readonly DrizzleColumn<SQLiteColumnBuilders, SQLiteColumnBuilderBase>[] = [
  { name: "blob({ mode: 'buffer' })", make: (t) => t.blob({ mode: 'buffer' }), ...bytes },
  { name: "blob({ mode: 'json' })", make: (t) => t.blob({ mode: 'json' }), values: documents, edges: ['15', 15] },
  { name: "blob({ mode: 'bigint' })", make: (t) => t.blob({ mode: 'bigint' }), values: fc.bigInt(), edges: [10n ** 30n] },
  {
    name: 'customType(…)',
    make: () => sqliteCustomType<{ data: Buffer; driverData: Uint8Array }>({ dataType: () => 'blob', fromDriver: toBuffer })(),
    note: 'of a `blob`',
    ...bytes,
  },
  { name: "integer({ mode: 'number' })", make: (t) => t.integer({ mode: 'number' }), values: fc.maxSafeInteger() },
  { name: "integer({ mode: 'boolean' })", make: (t) => t.integer({ mode: 'boolean' }), values: fc.boolean() },
  { name: "integer({ mode: 'timestamp' })", make: (t) => t.integer({ mode: 'timestamp' }), values: seconds },
  { name: "integer({ mode: 'timestamp_ms' })", make: (t) => t.integer({ mode: 'timestamp_ms' }), values: moment },
  {
    name: 'numeric()',
    make: (t) => t.numeric(),
    values: bigints.map(String),
    edges: ['0.5', '9223372036854775807'],
    note: 'SQLite has no decimals: it rounds others than 64-bit integers and drops zeros; use `text()`',
  },
  {
    name: "numeric({ mode: 'number' })",
    make: (t) => t.numeric({ mode: 'number' }),
    values: fc.integer().map((value) => value / 16),
    edges: [0.1],
  },
  { name: "numeric({ mode: 'bigint' })", make: (t) => t.numeric({ mode: 'bigint' }), values: bigints },
  { name: 'real()', make: (t) => t.real(), values: doubles, edges: [1e300, Number.MIN_VALUE] },
  { name: 'text()', make: (t) => t.text(), values: text, edges: ['a\0b', '15', '1.0'] },
  { name: "text({ mode: 'json' })", make: (t) => t.text({ mode: 'json' }), values: documents, edges: ['15', 15] },
]
