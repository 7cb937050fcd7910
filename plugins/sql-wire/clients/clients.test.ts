import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createProxyClient, headerFault, type ProxyClientOptions, ProxyError } from 'zin/clients'
import { encodeParams } from './params.js'
import { retryBudget } from './retry-budget.js'

interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly body: { readonly options: Record<string, unknown>; readonly [field: string]: unknown }
}

type Answer = Response | Error | (() => Promise<Response>)

const meta = { requestId: 'r1' }
const json = (body: unknown, status = 200, headers: Record<string, string> = {}) => new Response(JSON.stringify(body), { status, headers })
const rows = (list: readonly unknown[], columns: readonly unknown[] = []) =>
  json({ ok: true, rows: list, rowCount: list.length, columns, meta })
const refusal = (code: string, status: number, retryable: boolean, more = {}, headers = {}) =>
  json({ ok: false, code, message: `it is ${code}`, error: code, status, retryable, requestId: 'r9', ...more }, status, headers)
const written = () => json({ ok: true, rowCount: 2, lastInsertId: '42', rows: [], columns: [], meta: { changes: 2, changedRows: 1 } })

/** Creates a client whose requests get these responses in order. */
function clientOf(answers: readonly Answer[], options: Partial<ProxyClientOptions> = {}) {
  const sent: Sent[] = []
  const left = [...answers]
  const fetch = (async (input: string | URL | Request, init: RequestInit = {}) => {
    const body = typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body as ArrayBuffer)
    sent.push({ url: String(input), headers: new Headers(init.headers), body: JSON.parse(body) })
    const answer = left.shift()
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer() : answer
  }) as typeof globalThis.fetch
  return { client: createProxyClient({ url: 'http://127.0.0.1:1/base', proxy: 'rdb', fetch, ...options }), sent }
}

const failure = (work: Promise<unknown>): Promise<ProxyError> =>
  work.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => {
      assert.ok(error instanceof ProxyError, String(error))
      return error
    },
  )
const broken = () => new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })

describe('parameters of a proxy client', () => {
  it('carries every value exactly', () => {
    const values = ['x', 1.5, -3, true, null, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n, 1e300, Number.NaN, new Uint8Array([0, 255])]
    assert.deepEqual(encodeParams(values, 'rdb'), [
      'x',
      1.5,
      -3,
      true,
      null,
      { $type: 'int64', value: '9223372036854775807' },
      { $type: 'int64', value: '-9223372036854775808' },
      { $type: 'uint64', value: '18446744073709551615' },
      { $type: 'real', value: '1e+300' },
      { $type: 'real', value: 'NaN' },
      { $type: 'blob', base64: 'AP8=' },
    ])
    assert.deepEqual(encodeParams([-0], 'edge'), [{ $type: 'real', value: '-0' }])
    const bytes = new Uint8Array([9, 1, 2, 3]).subarray(1, 3)
    assert.deepEqual(encodeParams([bytes, bytes.slice().buffer, new Date(1_709_251_199_123)], 'rdb'), [
      { $type: 'blob', base64: 'AQI=' },
      { $type: 'blob', base64: 'AQI=' },
      { $type: 'datetime', value: '2024-02-29 23:59:59.123' },
    ])
    assert.deepEqual(encodeParams([2n ** 64n], 'rdb'), [{ $type: 'decimal', value: '18446744073709551616' }])
    assert.throws(() => encodeParams([2n ** 64n], 'edge'), /^TypeError: Parameter 0 is an integer of too many digits/)
    const tagged = { $type: 'decimal', value: '0.10' }
    assert.deepEqual(encodeParams([tagged], 'rdb'), [tagged])
  })

  it('refuses unsupported parameters, naming their index', () => {
    for (const [value, what] of [
      [undefined, 'of type undefined'],
      [[1], 'an array'],
      [{ a: 1 }, 'an object'],
      [10n ** 65n, 'an integer of too many digits'],
      [new Date(Number.NaN), 'an invalid Date'],
      [Symbol('s'), 'of type symbol'],
    ] as const)
      assert.throws(() => encodeParams(['x', value], 'rdb'), { name: 'TypeError', message: new RegExp(`^Parameter 1 is ${what};`) })
  })
})

describe('a proxy client', () => {
  it('decodes columns by type, with large integers as bigint', async () => {
    const columns = [
      { name: 'id', type: 'int64' },
      { name: 'big', type: 'uint64' },
      { name: 'amount', type: 'decimal' },
      { name: 'pic', type: 'blob' },
      { name: 'any', type: 'dynamic' },
      { name: 'doc', type: 'json' },
      { name: '__proto__', type: 'int64' },
    ]
    const text = `{"ok":true,"rowCount":1,"meta":{},"columns":${JSON.stringify(columns)},"rows":[{"id":"7","big":"18446744073709551615","amount":"1.10","pic":"AP8=","any":{"$type":"int64","value":"9007199254740993"},"doc":"{\\"a\\":1}","__proto__":"9007199254740993"}]}`
    const { client } = clientOf([new Response(text)])
    const { rows: found } = await client.query('select 1')
    const [row = {}] = found
    assert.deepEqual(Object.entries(row), [
      ['id', 7],
      ['big', 18446744073709551615n],
      ['amount', '1.10'],
      ['pic', new Uint8Array([0, 255])],
      ['any', 9007199254740993n],
      ['doc', '{"a":1}'],
      ['__proto__', 9007199254740993n],
    ])
    const arrays = clientOf([rows([['1', null]], [columns[0], columns[3]])], { int64: 'bigint' })
    assert.deepEqual((await arrays.client.query('select 1', [], { rowMode: 'array' })).rows, [[1n, null]])
    assert.equal(arrays.sent[0]?.body.options.rowMode, 'array')
  })

  it('signs each attempt again and keeps the path of its URL', async () => {
    const { client, sent } = clientOf([broken(), refusal('DB_UNAVAILABLE', 503, true), rows([{ a: 1 }])], {
      keyId: 'shop',
      secret: 'a secret',
      headers: { 'X-Gateway': 'yes' },
    })
    assert.deepEqual((await client.query('select 1', [1n])).rows, [{ a: 1 }])
    assert.equal(sent.length, 3)
    assert.equal(sent[0]?.url, 'http://127.0.0.1:1/base/svc/rdb/query')
    assert.equal(sent[0]?.headers.get('x-gateway'), 'yes')
    assert.equal(new Set(sent.map(({ headers }) => headers.get('x-sig-nonce'))).size, 3)
    assert.ok(sent.every(({ headers }) => headers.get('x-sig-key-id') === 'shop'))
  })

  it('retries a write only with an idempotency key, which stays the same', async () => {
    const once = clientOf([broken(), written()])
    const error = await failure(once.client.exec('insert into t values (1)'))
    assert.deepEqual([error.code, error.outcomeUnknown, once.sent.length], ['PROXY_UNREACHABLE', true, 1])
    assert.match(error.message, /http:\/\/127\.0\.0\.1:1 cannot be reached.*ECONNRESET/)

    const again = clientOf([broken(), refusal('IDEMPOTENCY_IN_PROGRESS', 409, true), written()])
    const result = await again.client.exec('insert into t values (1)', [], { idempotencyKey: true })
    assert.deepEqual([result.changes, result.changedRows, result.lastInsertId], [2, 1, 42n])
    const keys = again.sent.map(({ body }) => body.options.idempotencyKey)
    assert.deepEqual([keys.length, new Set(keys).size], [3, 1])
    assert.match(String(keys[0]), /^[0-9a-f-]{36}$/)
  })

  it('does not retry permanent errors, and reports their details', async () => {
    const { client, sent } = clientOf([refusal('CONSTRAINT_VIOLATION', 409, false, { details: { kind: 'unique', errno: 1062 } })])
    const error = await failure(client.query('select 1', [], { signal: new AbortController().signal }))
    assert.deepEqual(
      [error.code, error.status, error.retryable, error.requestId, error.details?.kind, error.outcomeUnknown, sent.length],
      ['CONSTRAINT_VIOLATION', 409, false, 'r9', 'unique', false, 1],
    )
  })

  it('stops retrying at the limit, and when the retry budget is exhausted', async () => {
    const { client, sent } = clientOf([broken(), broken(), broken(), broken()], { retries: 2 })
    await failure(client.query('select 1'))
    assert.equal(sent.length, 3)
    const budget = retryBudget(2)
    assert.deepEqual([budget.take(), budget.take(), budget.take()], [true, true, false])
    for (let i = 0; i < 10; i++) budget.succeeded()
    assert.deepEqual([budget.take(), budget.take()], [true, false])
  })

  it('fails at its deadline or signal, and never waits past the deadline for a retry', async () => {
    const hang = (): Promise<Response> => new Promise(() => undefined)
    const fetch = ((_input: unknown, init: RequestInit) =>
      new Promise((_resolve, reject) => {
        init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      })) as typeof globalThis.fetch
    const silent = clientOf([hang], { fetch, timeoutMs: 30 })
    assert.equal((await failure(silent.client.query('select 1'))).code, 'DEADLINE_EXCEEDED')
    const abort = new AbortController()
    const pending = silent.client.query('select 1', [], { signal: abort.signal, timeoutMs: 60_000 })
    abort.abort(new Error('enough'))
    await assert.rejects(pending, { message: 'enough' })
    await assert.rejects(silent.client.query('select 1', [], { signal: AbortSignal.abort() }), { name: 'AbortError' })
    const later = clientOf([refusal('RATE_LIMITED', 429, true, {}, { 'retry-after': '60' }), rows([])], { timeoutMs: 5_000 })
    const error = await failure(later.client.query('select 1'))
    assert.deepEqual([error.code, error.retryAfterMs, later.sent.length], ['RATE_LIMITED', 60_000, 1])
  })

  it('refuses a response that is too long or not from a proxy', async () => {
    const long = clientOf([rows([{ a: 'x'.repeat(2_000) }])], { maxResponseBytes: 1_000 })
    assert.equal((await failure(long.client.query('select 1'))).code, 'RESPONSE_TOO_LARGE')
    for (const answer of [
      new Response('<html>'),
      json([]),
      json({ ok: true, rows: 1 }),
      new Response(null, { status: 302 }),
      json({}, 404),
    ]) {
      const { client } = clientOf([answer])
      assert.equal((await failure(client.query('select 1'))).code, 'INVALID_RESPONSE')
    }
    const gateway = clientOf([new Response('bad gateway', { status: 502 }), rows([])])
    await gateway.client.query('select 1')
  })

  it('sends the hash of its SQL in registry mode', async () => {
    const { client, sent } = clientOf([rows([])], { mode: 'registry' })
    await client.query('select 1')
    assert.deepEqual(
      [sent[0]?.body.statementId, sent[0]?.body.sql],
      ['822ae07d4783158bc1912bb623e5107cc9002d519e1143a9c200ed6ee18b6d0f', undefined],
    )
  })

  it('streams rows, and treats an incomplete stream as an error', async () => {
    const lines = (...list: readonly unknown[]) => new Response(list.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const head = { type: 'head', columns: [{ name: 'id', type: 'int64' }] }
    const row = (id: string) => ({ type: 'row', row: { id } })
    const all = async (answer: Response) => {
      const found: unknown[] = []
      for await (const one of clientOf([answer]).client.stream('select 1')) found.push(one)
      return found
    }
    assert.deepEqual(await all(lines(head, row('1'), row('2'), { type: 'end', rowCount: 2, meta })), [{ id: 1 }, { id: 2 }])
    assert.equal((await failure(all(lines(head, row('1'))))).code, 'INVALID_RESPONSE')
    const error = { ok: false, code: 'QUERY_TIMEOUT', message: 'late', error: 'late', status: 504, retryable: true }
    assert.equal((await failure(all(lines(head, row('1'), { type: 'error', error })))).code, 'QUERY_TIMEOUT')
  })

  it('refuses invalid options without repeating secrets', () => {
    const make = (options: Partial<ProxyClientOptions>) => () => clientOf([], options)
    assert.throws(make({ url: 'https://user:pw@sql.test' }), (error: Error) => !error.message.includes('pw'))
    for (const url of ['sql.test', 'ftp://sql.test', 'https://sql.test/?a=1']) assert.throws(make({ url }), TypeError)
    assert.throws(make({ secret: 'top-secret' }), (error: Error) => !error.message.includes('top-secret'))
    assert.throws(make({ headers: { 'x-sig-nonce': '1' } }), /part of the signature/)
    assert.throws(make({ retries: 6 }), TypeError)
  })

  it('refuses headers that frame, sign or smuggle', () => {
    for (const name of [
      'Host',
      'Content-Length',
      'Transfer-Encoding',
      'Connection',
      'X-Sig-Signature',
      'Origin',
      'Sec-Fetch-Site',
      'a b',
      'x:y',
      '',
    ])
      assert.notEqual(headerFault(name, 'v'), undefined, name)
    for (const value of ['a\r\nb: c', 'a\0', 'é', 'x'.repeat(9_000)]) {
      const fault = headerFault('x-tenant', value)
      assert.ok(fault !== undefined && !fault.includes(value))
    }
    assert.equal(headerFault('CF-Access-Client-Id', 'abc.def'), undefined)
    assert.equal(headerFault('Authorization', 'Bearer x'), undefined)
  })
})
