import fc from 'fast-check'

export type Schema = Readonly<Record<string, unknown>>
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

const deepList = Array.from({ length: 1_000 }).reduce<Json>((inner) => [inner], 0)
const deepRecord = Array.from({ length: 500 }).reduce<Json>((inner) => ({ a: inner }), 0)

/** Text that has broken parsers, paths, queries, logs or stores. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    ...['', ' ', '\0', 'a\0b', '\ud800', '\u202e', 'é', '日本', '🦊', '\r\nx-injected: 1', '%00', '%C3%A9', '..', '../../etc/passwd'],
    ...['__proto__', 'constructor', 'hasOwnProperty', 'null', 'undefined', 'NaN', '-1', '1e999', "' OR '1'='1", '"; DROP TABLE users; --'],
    ...[
      '$(id)',
      '<script>',
      '[object Object]',
      'x'.repeat(300),
      'é'.repeat(5_000),
      '*',
      '{__}:*',
      'file:///etc/passwd',
      'https://127.0.0.1/',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 50 }),
)

/** Ids that are keys of the stores, or stand for something else in URLs. */
export const oddIds = [
  'wait',
  'active',
  'meta',
  'id',
  'events',
  'stalled',
  'stalled-check',
  'repeat',
  '.',
  '..',
  'a:b',
  '12',
  '-1',
  '1e3',
  '__proto__',
]

/** Values as they are percent-encoded in a path or query, with invalid UTF-8 and lone surrogates, which no text can contain. */
export const oddEncoded = [
  ...['%ED%A0%80', 'a%ED%B0%80b', '%FF', '%C3', '%F5%80%80%80', '%00', 'true', 'false', '1e999', '-1e999', '9007199254740993', '1e-999'],
  ...['__proto__', 'data.__proto__:1', 'data.constructor.prototype:true', ...oddIds],
]

/** JSON as it is sent, byte by byte: invalid UTF-8, and values that `JSON.stringify` cannot write. */
const oddTokens = [
  ...[
    '"\\ud800"',
    '"a\\udc00b"',
    '"\\u0000"',
    '"\xff"',
    '"\xc3"',
    '"\xed\xa0\x80"',
    'true',
    'false',
    '[true]',
    '1e999',
    '-1e999',
    '1e-999',
  ],
  ...['9007199254740993', '"__proto__"', '{"__proto__":1}', '{"__proto__":{"a":1},"\xff":1}', ...oddIds.map((id) => JSON.stringify(id))],
]

const marker = 'zin-fuzz-marker'

/** JSON, as Latin-1, in which any one value, or the name of a field, is an odd token. */
export function oddJson(fitting: fc.Arbitrary<Json>): fc.Arbitrary<string> {
  return fc
    .tuple(fitting, fc.constantFrom(...oddTokens), fc.nat(1_000), fc.constantFrom('replace', 'replace', 'replace', 'add'))
    .map(([value, token, position, how]) =>
      Buffer.from(JSON.stringify(spoil([value, marker, position, how])), 'utf8')
        .toString('latin1')
        .replaceAll(JSON.stringify(marker), token),
    )
}

/** JSON that matches no schema. */
export const hostileJson: fc.Arbitrary<Json> = fc.oneof(
  hostileText,
  fc.constantFrom<Json>(null, true, 0, -1, 1.5, -0, 1e308, 2 ** 53, -(2 ** 63), [], {}, [[]], deepList, deepRecord),
  fc.constant<Json>(JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":{}}}') as Json),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
)

/** A value as it appears in a path or query. */
export const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Strings in the formats that Zin's routes use. */
const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'date-time': fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  email: fc.emailAddress(),
  uuid: fc.uuid(),
  uri: fc.webUrl(),
}

/** Values that match a JSON schema, as far as its keywords are supported; a schema without a type allows anything. */
export function valuesOf(schema: Schema): fc.Arbitrary<Json> {
  if ('const' in schema) return fc.constant(schema.const as Json)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as Json[]))
  const choices = (schema.anyOf ?? schema.oneOf) as readonly Schema[] | undefined
  if (choices?.length) return fc.oneof(...choices.map(valuesOf))
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => valuesOf({ ...schema, type })))
  switch (schema.type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return integers(schema)
    case 'number':
      return fc.double({ min: number(schema.minimum, -1e6), max: number(schema.maximum, 1e6), noNaN: true })
    case 'string':
      return texts(schema)
    case 'array':
      return fc.array(valuesOf((schema.items ?? {}) as Schema), { minLength: number(schema.minItems, 0), maxLength: 5 })
    case 'object':
      return records(schema)
    default:
      return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>
  }
}

const number = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise)

function integers(schema: Schema): fc.Arbitrary<number> {
  const usual = fc.integer({ min: number(schema.minimum, -100), max: number(schema.maximum, 2 ** 31 - 1) })
  // Larger than database integers, and than those that JavaScript can represent exactly.
  return typeof schema.maximum === 'number' ? usual : fc.oneof({ weight: 9, arbitrary: usual }, fc.constantFrom(2 ** 53 - 1, 1e300))
}

function texts(schema: Schema): fc.Arbitrary<string> {
  const format = formats[String(schema.format)]
  if (format !== undefined) return format
  if (typeof schema.pattern === 'string') return fc.stringMatching(new RegExp(schema.pattern))
  const minLength = number(schema.minLength, 0)
  return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(number(schema.maxLength, 40), 200)) })
}

function records(schema: Schema): fc.Arbitrary<Json> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const arbitraries = Object.fromEntries(properties.map(([name, property]) => [name, valuesOf(property)]))
  const required = ((schema.required ?? []) as readonly string[]).filter((name) => name in arbitraries)
  return fc.record(arbitraries, { requiredKeys: required as string[] }) as fc.Arbitrary<Json>
}

/** Mostly a valid value; otherwise one with a part replaced, removed or added, or any value at all. */
export function nearly(fitting: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  return fc.oneof(
    { weight: 5, arbitrary: fitting },
    { weight: 4, arbitrary: fc.tuple(fitting, hostileJson, fc.nat(1_000), fc.constantFrom('replace', 'remove', 'add')).map(spoil) },
    { weight: 1, arbitrary: hostileJson },
  )
}

function spoil([value, hostile, position, how]: [Json, Json, number, string]): Json {
  if (Array.isArray(value)) return how === 'remove' ? value.slice(1) : [...(value as readonly Json[]), hostile]
  if (value === null || typeof value !== 'object') return hostile
  const entries = Object.entries(value)
  const at = entries.length === 0 ? 0 : position % entries.length
  if (how === 'add' || entries.length === 0) return Object.fromEntries([...entries, [textOf(hostile).slice(0, 100), hostile]])
  if (how === 'remove') return Object.fromEntries(entries.filter((_, index) => index !== at))
  return Object.fromEntries(entries.map(([key, old], index) => [key, index === at ? spoil([old, hostile, position >> 2, how]) : old]))
}
