import { onMysql } from '../../../scripts/testing/mysql-database.js'
import fc from '../../../scripts/testing/properties.js'

export type Dialect = 'sqlite' | 'mysql'

/** A type of a column, with values to write and what is read. */
export interface ColumnType {
  /** As it is written in a table, and as Kysely names it. */
  readonly name: string
  /** Other names for the same. */
  readonly aliases?: readonly string[]
  /** The databases that have it. Default: both. */
  readonly on?: readonly Dialect[]
  readonly values: fc.Arbitrary<unknown>
  /** Further values that random ones may miss. */
  readonly edges?: readonly unknown[]
  /** Default: what was written. */
  readonly read?: (written: unknown, dialect: Dialect, proxied: boolean) => unknown
  /** What is different, or what to write. */
  readonly note?: string
  /** Whether it is a key: not null, and no value twice. Default false. */
  readonly isKey?: boolean
}

export const dateTime = (time: Date, digits: number): string =>
  time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d{3}Z$/, (ms) => (digits === 0 ? '' : `.${ms.slice(1, 4).padEnd(digits, '0')}`))
const seconds = (min: string, max: string): fc.Arbitrary<Date> =>
  fc.integer({ min: Date.parse(min) / 1000, max: Date.parse(max) / 1000 }).map((second) => new Date(second * 1000))
const milliseconds = (min: string, max: string): fc.Arbitrary<Date> =>
  fc.tuple(seconds(min, max), fc.nat(999)).map(([time, ms]) => new Date(time.getTime() + ms))
const micros = fc.nat(999_999).map((value) => `.${String(value).padStart(6, '0')}`)
/** Dates that MySQL supports, and moments of a TIMESTAMP. */
export const day = seconds('1000-01-02T00:00:00Z', '9999-12-30T00:00:00Z')
export const moment = milliseconds('1970-01-02T00:00:00Z', '2038-01-19T03:14:07Z')
const clock = seconds('2000-01-01T00:00:00Z', '2000-01-01T23:59:59Z').map((time) => dateTime(time, 0).slice(11))
export const times = { day: day.map((time) => dateTime(time, 0).slice(0, 10)), clock }

/** Any text that all databases keep. */
export const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((value) => !value.includes('\0'))
const oddTexts = ['', ' ', 'a\'b"c`d\\e?;--', 'ünïcode 🦆', 'null', '1', '1.0', '9e999', '\u0001', '\ufeffbom']
const integers = (min: number, max: number): Pick<ColumnType, 'values' | 'edges'> => ({
  values: fc.integer({ min, max }),
  edges: [min, max, 0],
})
const bytes = (maxLength: number, minLength = 0): Pick<ColumnType, 'values' | 'edges' | 'read'> => ({
  values: fc.uint8Array({ minLength, maxLength }),
  edges: [new Uint8Array(maxLength).fill(255), Buffer.alloc(maxLength, 'b'), new Uint8Array(maxLength).fill(49).buffer],
  read: (value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : Uint8Array.from(value as Uint8Array)),
})

/** What every connection gives for a 64-bit integer. */
export const int64 = (value: unknown): unknown => (Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value as bigint))
const max64 = 2n ** 63n - 1n
export const bigints = fc.oneof(fc.bigInt({ min: -max64 - 1n, max: max64 }), fc.maxSafeInteger().map(BigInt))
/** A DOUBLE; databases have no negative zero. */
export const doubles = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)
/** FLOAT has no denormal numbers in MySQL. */
const floats = fc
  .float({ noNaN: true, noDefaultInfinity: true })
  .filter((value) => value === 0 || Math.abs(value) > 1.2e-38)
  .map((value) => value + 0)
export const decimals = fc
  .tuple(fc.maxSafeInteger(), fc.nat(999_999_999))
  .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(9, '0')}1`)
/** A number in a column of SQLite that has no other type for it. */
const sqliteNumber = (value: unknown): unknown => {
  const number = Number(value)
  return Number.isInteger(number) && Math.abs(number) < 2 ** 63 ? int64(number) : number
}
const documents = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())).map((value) => JSON.stringify(value))
const sqliteOnly = { on: ['sqlite'] } as const
const mysqlOnly = { on: ['mysql'] } as const
/** A point with the coordinates 1 and 2 as MySQL stores it: SRID, byte order, kind, coordinates. */
const point = Uint8Array.from(Buffer.from('000000000101000000000000000000f03f0000000000000040', 'hex'))

export const columnTypes: readonly ColumnType[] = [
  { name: 'boolean', values: fc.boolean(), edges: [true, false], read: Number, note: '`true` and `false` are written' },
  { name: 'smallint', aliases: ['int2'], ...integers(-32_768, 32_767) },
  { name: 'integer', aliases: ['int4'], ...integers(-2_147_483_648, 2_147_483_647) },
  { name: 'tinyint', ...integers(-128, 127), ...mysqlOnly },
  { name: 'tinyint unsigned', ...integers(0, 255), ...mysqlOnly },
  { name: 'smallint unsigned', ...integers(0, 65_535), ...mysqlOnly },
  { name: 'mediumint', ...integers(-8_388_608, 8_388_607), ...mysqlOnly },
  { name: 'mediumint unsigned', ...integers(0, 16_777_215), ...mysqlOnly },
  { name: 'int unsigned', ...integers(0, 4_294_967_295), ...mysqlOnly },
  { name: 'year', ...integers(1901, 2155), edges: [1901, 2155], ...mysqlOnly },
  {
    name: 'bigint',
    aliases: ['int8'],
    values: fc.oneof(fc.maxSafeInteger(), bigints),
    edges: [2 ** 53 - 1, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, max64, -max64 - 1n, 0n],
    read: int64,
  },
  {
    name: 'bigint unsigned',
    values: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    edges: [2n ** 64n - 1n, 2n ** 63n, 1n],
    read: int64,
    ...mysqlOnly,
  },
  {
    name: 'serial',
    values: fc.integer({ min: 1, max: 2 ** 31 }),
    isKey: true,
    note: 'SQLite does not count: use `integer primary key`',
  },
  { name: 'bigserial', values: fc.maxSafeInteger(), ...sqliteOnly, note: 'SQLite does not count: use `integer primary key`' },
  {
    name: 'double precision',
    aliases: ['float8', 'real'],
    values: doubles,
    edges: [Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, 1e300, 0.1, 2 ** 53 + 2, 1e20, 1e21],
  },
  {
    name: 'float4',
    values: floats,
    edges: [Math.fround(0.1), 16_777_216, Math.fround(3.4e38)],
    read: (value, dialect, proxied) =>
      dialect === 'mysql' && !proxied && typeof value === 'number' ? Number(value.toPrecision(6)) : value,
    note: 'A direct connection to MySQL or MariaDB reads 6 digits of it, one through the proxy all: use `double precision`',
  },
  {
    name: 'decimal(38, 10)',
    aliases: ['numeric(38, 10)'],
    values: decimals,
    edges: ['1234567890123456789012345678.0123456789', '-0.0000000001', '5.0000000000', '9007199254740993.0000000000'],
    read: (value, dialect) => (dialect === 'sqlite' ? sqliteNumber(value) : value),
    note: 'SQLite has no decimals, and rounds: use `text`',
  },
  {
    name: 'decimal',
    aliases: ['numeric'],
    values: fc.integer({ min: -999_999_999, max: 999_999_999 }).map(String),
    read: (value, dialect) => (dialect === 'sqlite' ? Number(value) : value),
    note: 'In MySQL and MariaDB it has no digits after the point',
  },
  {
    name: 'char(20)',
    values: text,
    edges: oddTexts,
    read: (value, dialect) => (dialect === 'mysql' ? (value as string).replace(/ +$/, '') : value),
    note: 'MySQL and MariaDB drop spaces at its end',
  },
  { name: 'varchar(100)', values: text, edges: oddTexts },
  { name: 'text', values: text, edges: [...oddTexts, 'x'.repeat(60_000)] },
  { name: 'tinytext', aliases: ['mediumtext', 'longtext'], values: text, edges: oddTexts, ...mysqlOnly },
  { name: "enum('a','b c')", values: fc.constantFrom('a', 'b c'), ...mysqlOnly },
  { name: "set('x','y')", values: fc.constantFrom('', 'x', 'y', 'x,y'), ...mysqlOnly },
  { name: 'uuid', values: fc.uuid(), ...(onMysql && sqliteOnly), note: 'MariaDB 10.7 and later; MySQL has none: use `char(36)`' },
  {
    name: 'json',
    values: onMysql ? fc.constantFrom('{"a": [1, "x"], "bc": {"d": null}}', '[]', '"ü"') : documents,
    edges: [...(onMysql ? [] : ['{"a":12345678901234567890, "b": 0.10}']), '"text"', 'null', 'true', '15'],
    read: (value, dialect) => (value === '15' && dialect === 'sqlite' ? 15 : value),
    note: 'Its text: use `JSON.stringify` and `JSON.parse`. SQLite makes a number of a document that is one: use `text`. MySQL stores a document in its own form, with other spaces and keys in another order',
  },
  { name: 'jsonb', values: documents, ...sqliteOnly },
  { name: 'blob', ...bytes(200), note: 'A Buffer, a typed array or an ArrayBuffer can be written, too' },
  { name: 'varbinary(100)', ...bytes(100) },
  { name: 'binary(16)', ...bytes(16, 16), note: 'MySQL and MariaDB fill it up with zeros' },
  { name: 'tinyblob', aliases: ['mediumblob', 'longblob'], ...bytes(100), ...mysqlOnly },
  { name: 'bytea', ...bytes(100), ...sqliteOnly },
  {
    name: 'bit(12)',
    values: fc.nat(4095).map((value) => Uint8Array.of(value >> 8, value & 255)),
    edges: [Uint8Array.of(15, 255)],
    ...mysqlOnly,
  },
  { name: 'point', values: fc.constant(point), note: 'SRID and WKB; so are all types of geometry', ...mysqlOnly },
  { name: 'date', values: times.day, edges: ['1000-01-01', '2024-02-29', '9999-12-31'] },
  { name: 'time', values: clock, edges: ['-838:59:59', '838:59:59', '00:00:00'] },
  { name: 'time(6)', values: fc.tuple(clock, micros).map(([time, fraction]) => time + fraction), edges: ['-12:00:00.500000'] },
  { name: 'datetime', values: day.map((time) => dateTime(time, 0)), edges: ['2024-02-29 23:59:59'] },
  {
    name: 'datetime(3)',
    values: fc.oneof(
      moment,
      moment.map((time) => dateTime(time, 3)),
    ),
    edges: [new Date(0), '1000-01-01 00:00:00.000', '9999-12-31 23:59:59.999', new Date('9999-12-31T23:59:59.999Z')],
    read: (value) => (value instanceof Date ? dateTime(value, 3) : value),
    note: 'In UTC, from a Date or its text. SQLite keeps the text as it is: write as many digits as the column has',
  },
  { name: 'datetime(6)', values: fc.tuple(day, micros).map(([time, fraction]) => dateTime(time, 0) + fraction) },
  { name: 'timestamp', values: moment.map((time) => dateTime(time, 0)), edges: ['2038-01-19 03:14:07', '1970-01-01 00:00:01'] },
  {
    name: 'timestamp(3)',
    values: fc.oneof(
      moment,
      moment.map((time) => dateTime(time, 3)),
    ),
    edges: [new Date(onMysql ? 1000 : 1), new Date('2038-01-19T03:14:07.999Z'), '2024-03-31 02:30:00.500'],
    read: (value) => (value instanceof Date ? dateTime(value, 3) : value),
    note: 'As `datetime(3)`, whatever the time zone of the server',
  },
  { name: 'timetz', aliases: ['timestamptz'], values: text, ...sqliteOnly },
  {
    name: 'int4range',
    aliases: [
      ...['int8', 'num', 'ts', 'tstz', 'date'].map((type) => `${type}range`),
      ...['int4', 'int8', 'num', 'ts', 'tstz', 'date'].map((type) => `${type}multirange`),
    ],
    values: fc.tuple(fc.integer(), fc.integer()).map(([from, to]) => `[${from},${to})`),
    ...sqliteOnly,
  },
]
