import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkParams,
  errorBody,
  isBase64,
  paramFault,
  parseBatch,
  parseStatement,
  parseTx,
  statementTypes,
  toBase64,
  unauthorized,
  WireError,
} from './index.js'
import { parseRegistry, RegistryError } from './registry.js'

const codeOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    if (error instanceof WireError) return error.code
    throw error
  }
  return 'none'
}

test('A statement has either SQL or an id, and no unknown fields', () => {
  assert.deepEqual(parseStatement({ sql: 'select 1' }), { sql: 'select 1', params: [], options: {} })
  const wrong: readonly unknown[] = [
    ...[null, [], 'select 1', {}, { sql: 'select 1', statementId: 'a' }, { sql: '' }, { sql: '  ' }, { sql: 1 }, { statementId: '' }],
    ...[
      { sql: 'a', more: 1 },
      { sql: 'a', params: {} },
      { sql: 'a', options: { nope: 1 } },
      { sql: 'a', options: [] },
    ],
    ...[
      { sql: 'a', options: { maxRows: 0 } },
      { sql: 'a', options: { rowMode: 'rows' } },
      { sql: 'a', options: { timeoutMs: 1.5 } },
    ],
    ...[{ sql: 'a', options: { idempotencyKey: '' } }, { sql: 'a', options: { idempotencyKey: 'ä' } }, { statementId: 'x'.repeat(129) }],
    JSON.parse('{"sql": "a", "__proto__": {}}'),
  ]
  for (const body of wrong)
    assert.equal(
      codeOf(() => parseStatement(body)),
      'VALIDATION_ERROR',
      JSON.stringify(body),
    )
})

test('Limits of SQL, parameters and statements apply as documented', () => {
  const limits = { maxSqlBytes: 6, maxParams: 2, maxStatements: 2 }
  assert.equal(
    codeOf(() => parseStatement({ sql: 'ääa' }, limits)),
    'none',
  )
  assert.equal(
    codeOf(() => parseStatement({ sql: 'äääa' }, limits)),
    'SQL_TOO_LARGE',
  )
  assert.equal(
    codeOf(() => parseStatement({ sql: 'a', params: [1, 2, 3] }, limits)),
    'TOO_MANY_PARAMS',
  )
  const statement = { sql: 'a' }
  assert.equal(
    codeOf(() => parseBatch({ statements: [statement, statement] }, limits)),
    'none',
  )
  assert.equal(
    codeOf(() => parseBatch({ statements: [statement, statement, statement] }, limits)),
    'VALIDATION_ERROR',
  )
  assert.equal(
    codeOf(() => parseBatch({ statements: [] }, limits)),
    'VALIDATION_ERROR',
  )
})

test('Parameters are scalars or valid tagged values', () => {
  const right: readonly unknown[] = [
    ...[
      '',
      'x',
      0,
      -0,
      1.5,
      true,
      null,
      { $type: 'int64', value: '-9223372036854775808' },
      { $type: 'uint64', value: '18446744073709551615' },
    ],
    ...[
      { $type: 'decimal', value: '-123456789012345678901234567890.1234' },
      { $type: 'blob', base64: 'AP8Q' },
      { $type: 'json', value: [1] },
    ],
    ...[
      { $type: 'date', value: '0000-00-00' },
      { $type: 'time', value: '-838:59:59' },
      { $type: 'datetime', value: '2024-02-29 23:59:59.123456' },
    ],
    ...[
      { $type: 'real', value: 'NaN' },
      { $type: 'real', value: '1.7976931348623157e308' },
    ],
  ]
  for (const value of right) assert.equal(paramFault(value), undefined, JSON.stringify(value))
  const wrong: readonly unknown[] = [
    ...[
      [],
      [1, 2],
      {},
      { password: 1 },
      undefined,
      9007199254740992,
      Number.NaN,
      { $type: 'int64', value: 1 },
      { $type: 'int64', value: '1.0' },
    ],
    ...[
      { $type: 'int64', value: '9223372036854775808' },
      { $type: 'uint64', value: '-1' },
      { $type: 'int64', value: '1', more: 1 },
    ],
    ...[
      { $type: 'blob', base64: 'AP8' },
      { $type: 'blob', base64: 'AB==' },
      { $type: 'blob', value: '' },
      { $type: 'date', value: 'today' },
    ],
    ...[{ $type: 'toString', value: '' }, { $type: 'real', value: '1e999' }, { $type: 'decimal', value: '1e5' }, { $type: 1 }],
  ]
  for (const value of wrong) assert.notEqual(paramFault(value), undefined, JSON.stringify(value))
  assert.throws(
    () => parseStatement({ sql: 'a', params: [1, [2]] }),
    (error: WireError) => error.details?.index === 1,
  )
})

test('Base64 is validated in canonical form without decoding it', () => {
  for (let length = 0; length < 60; length++)
    assert.ok(isBase64(toBase64(Uint8Array.from({ length }, (_, at) => (at * 37 + length) % 256))))
  for (const text of ['A', 'AA', 'AAA', 'AB==', 'AAB=', '====', 'A===', 'AA=A', 'AA_-', ' AAA']) assert.equal(isBase64(text), false, text)
})

test('A transaction request has an action and a baton', () => {
  assert.deepEqual(parseTx({ action: 'begin' }), { action: 'begin', options: {} })
  assert.deepEqual(parseTx({ action: 'commit', baton: 'abc' }), { action: 'commit', baton: 'abc' })
  assert.equal(
    codeOf(() => parseTx({ action: 'commit' })),
    'VALIDATION_ERROR',
  )
  assert.equal(
    codeOf(() => parseTx({ action: 'commit', baton: 'abc', sql: 'a' })),
    'VALIDATION_ERROR',
  )
  assert.equal(
    codeOf(() => parseTx({ action: 'query', sql: 'a' })),
    'VALIDATION_ERROR',
  )
  assert.equal(
    codeOf(() => parseTx({ action: 'drop' })),
    'VALIDATION_ERROR',
  )
})

test('A batch error has the index of its statement, and a 401 has no request id', () => {
  assert.throws(
    () => parseBatch({ statements: [{ sql: 'a' }, { sql: 'a', params: [[]] }] }),
    (error: WireError) => error.code === 'INVALID_PARAM' && error.details?.failedIndex === 1 && error.details.index === 0,
  )
  assert.deepEqual(errorBody(unauthorized(), 'r1'), errorBody(unauthorized(), 'r2'))
  assert.equal(errorBody(new WireError('POOL_EXHAUSTED', 'x'), 'r1').requestId, 'r1')
  assert.equal(new WireError('POOL_EXHAUSTED', 'x').with({ details: { failedIndex: 1 } }).retryAfterS, 1)
})

test('Parameters of a registered statement are checked by type and tagged for binding', () => {
  const one = (type: 'text' | 'int64' | 'int32' | 'decimal' | 'blob' | 'bool' | 'json' | 'date', more = {}) =>
    [{ name: 'a', type, ...more }] as const
  assert.deepEqual(checkParams(one('int64'), ['9007199254740993']), [{ $type: 'int64', value: '9007199254740993' }])
  assert.deepEqual(checkParams(one('int64'), [7]), [{ $type: 'int64', value: '7' }])
  assert.deepEqual(checkParams(one('decimal'), ['1.50']), [{ $type: 'decimal', value: '1.50' }])
  assert.deepEqual(checkParams(one('text', { nullable: true }), [null]), [null])
  for (const [type, value] of [
    ['text', 0],
    ['text', null],
    ['int32', 2 ** 31],
    ['int32', '1'],
    ['int64', '1 or 1=1'],
    ['bool', 1],
    ['json', '{'],
    ['date', '1'],
    ['blob', 'AAAA'],
  ] as const)
    assert.equal(
      codeOf(() => checkParams(one(type), [value])),
      'INVALID_PARAM',
      `${type} ${value}`,
    )
  assert.equal(
    codeOf(() => checkParams(one('text', { maxLength: 1 }), ['ab'])),
    'INVALID_PARAM',
  )
  assert.equal(
    codeOf(() => checkParams(one('blob', { maxLength: 2 }), [{ $type: 'blob', base64: 'AP8Q' }])),
    'INVALID_PARAM',
  )
  assert.equal(
    codeOf(() => checkParams(one('text'), [])),
    'INVALID_PARAM',
  )
  assert.deepEqual(checkParams(one('int32'), [-(2 ** 31)]), [-(2 ** 31)])
})

const mysql = { dialect: 'mysql' } as const

test('A registry accepts the short and the long form, and hash ids on request', async () => {
  const short = await parseRegistry('{"legacy": "SELECT 1", "add": "INSERT INTO t VALUES (?)"}', mysql)
  assert.deepEqual(
    short.statements.map(({ id, kind, placeholders }) => [id, kind, placeholders]),
    [
      ['legacy', 'read', 0],
      ['add', 'write', 1],
    ],
  )
  assert.equal(short.warnings.length, 1)
  const long = await parseRegistry(
    JSON.stringify({ version: 1, hashIds: true, statements: { one: { sql: 'SELECT 1', one: true }, statements: 'select 2' } }),
    mysql,
  )
  const hash = 'e004ebd5b5532a4b85984a62f8ad48a81aa3460c1ca07701f386135d72cdecf5'
  assert.equal(long.get(hash)?.id, 'one')
  assert.equal(long.get(`sha256:${hash}`)?.one, true)
  for (const id of ['__proto__', 'constructor', 'toString', 'nope']) assert.equal(long.get(id), undefined)
  assert.equal((await parseRegistry('{"statements": "select 1"}', mysql)).get('statements')?.kind, 'read')
})

test('All problems of a registry are listed at once', async () => {
  const problems = async (json: string): Promise<readonly string[]> => {
    const error = await parseRegistry(json, mysql).catch((caught: unknown) => caught)
    assert.ok(error instanceof RegistryError, json)
    return error.problems
  }
  assert.match((await problems('{'))[0] as string, /not valid JSON/)
  assert.match((await problems('{"a": "select 1", "a": "select 2"}')).join(), /a is a duplicate key/)
  assert.match(
    (await problems('{"version": 1, "statements": {"a": {"sql": "select 1"}, "b": {"sql": "x", "sql": "select 1"}}}')).join(),
    /statements.b.sql is a duplicate key/,
  )
  const faulty = {
    constructor: 'select 1',
    'bad id': 'select 1',
    two: 'select 1; select 2',
    open: "select 'x",
    session: "set sql_mode = ''",
    file: "select 1 into outfile '/tmp/x'",
    kind: { sql: 'with a as (select 1) delete from t', kind: 'read' },
    count: { sql: 'select ?', params: [] },
    type: { sql: 'select ?', params: [{ name: 'a', type: 'number' }] },
    field: { sql: 'select 1', extra: 1 },
    ['0'.repeat(64)]: 'select 1',
  }
  const listed = await problems(JSON.stringify(faulty))
  for (const id of Object.keys(faulty))
    assert.ok(
      listed.some((problem) => problem.includes(id)),
      `${id} in ${listed.join('\n')}`,
    )
})

test('Declarations of statements include parameters and rows', async () => {
  const json = {
    version: 1,
    statements: {
      'user.byId': { sql: 'select id, name from users where id = ?', one: true, params: [{ name: 'id', type: 'int64' }] },
      legacy: 'select ?',
    },
  }
  const { statements } = await parseRegistry(JSON.stringify(json), mysql)
  const text = statementTypes(
    statements,
    new Map([
      [
        'user.byId',
        [
          { name: 'id', type: 'int64', nullable: false },
          { name: 'name', type: 'text' },
        ],
      ],
    ]),
  )
  assert.match(text, /"user\.byId": \{/)
  assert.match(text, /readonly params: readonly \[id: number \| string \| bigint\]/)
  assert.match(text, /readonly row: \{ readonly "id": number \| bigint; readonly "name": string \| null \}/)
  assert.match(text, /readonly params: readonly \[Param\]/)
})
