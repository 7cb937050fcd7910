import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { Context } from 'koa'
import { ZinError } from '../errors.js'
import type { ErrorBody } from '../hooks/catalogue.js'
import { bodyHeaders } from './headers.js'
import { makeApp, route } from './test-support.js'

const failing = (thrown: () => unknown) =>
  route({
    method: 'GET',
    path: '/fail',
    handler: (ctx) => {
      ctx.set('ETag', '"x"')
      ctx.set('Cache-Control', 'public')
      ctx.type = 'text/csv'
      throw thrown()
    },
  })

test('a ZinError sets status, title, code, details and headers of the response', async (t) => {
  const error = new ZinError('WORKER_NOT_FOUND', 'No worker is named "x"', {
    status: 404,
    details: { name: 'x' },
    headers: { 'Retry-After': '3' },
  })
  const { app, log, failures } = makeApp(t, [failing(() => error)])
  const response = await app.inject({ path: '/fail' })
  assert.equal(response.status, 404)
  assert.deepEqual(response.body, {
    error: 'Worker not found',
    message: 'No worker is named "x"',
    code: 'WORKER_NOT_FOUND',
    details: { name: 'x' },
  })
  assert.equal(response.headers['retry-after'], '3')
  assert.equal(response.headers['cache-control'], 'no-store')
  assert.equal(response.headers.etag, undefined)
  assert.match(String(response.headers['content-type']), /^application\/json/)
  assert.deepEqual([log.lines, failures], [[], []])
})

for (const name of bodyHeaders) {
  test(`a header that describes the replaced body is left out: ${name}`, async (t) => {
    const handler = (ctx: Context): object => {
      ctx.set(name, 'x')
      ctx.set('X-Kept', 'yes')
      throw new ZinError('GONE', 'It is gone', { status: 410 })
    }
    const { app } = makeApp(t, [route({ method: 'GET', path: '/fail', handler })])
    const { headers, status } = await app.inject({ path: '/fail' })
    assert.deepEqual([status, headers['x-kept']], [410, 'yes'])
    assert.notEqual(headers[name], 'x')
  })
}

test('errors of ctx.throw keep their status, and the text of an unexposed one stays hidden', async (t) => {
  const { app } = makeApp(t, [
    route({ method: 'GET', path: '/403', handler: (ctx) => ctx.throw(403, 'not yours') }),
    route({ method: 'GET', path: '/503', handler: (ctx) => ctx.throw(503, 'password of the database') }),
    route({ method: 'GET', path: '/409', handler: (ctx) => ctx.throw(409, 'row 7 of table secrets', { expose: false }) }),
    route({ method: 'GET', path: '/500', handler: (ctx) => ctx.throw(500, 'for everybody', { expose: true }) }),
    route({ method: 'GET', path: '/400', handler: (ctx) => ctx.throw(400, new Error('no such city')) }),
  ])
  assert.deepEqual((await app.inject({ path: '/409' })).body, { error: 'Conflict', message: 'Conflict', code: 'CONFLICT' })
  assert.equal((await app.inject({ path: '/500' })).body.message, 'for everybody')
  assert.equal((await app.inject({ path: '/400' })).body.message, 'no such city')
  assert.deepEqual((await app.inject({ path: '/403' })).body, { error: 'Forbidden', message: 'not yours', code: 'FORBIDDEN' })
  assert.deepEqual((await app.inject({ path: '/503' })).body, {
    error: 'Service Unavailable',
    message: 'Service Unavailable',
    code: 'SERVICE_UNAVAILABLE',
  })
})

test('any other error is 500, logged with the request id and reported', async (t) => {
  for (const thrown of [new TypeError('boom'), 'a string', null, Object.assign(new Error('x'), { status: 404 })]) {
    const { app, log, failures } = makeApp(t, [failing(() => thrown)], { trustedProxies: 1 })
    const response = await app.inject({ path: '/fail?secret=1', headers: { 'x-request-id': 'request-1' } })
    assert.deepEqual([response.status, response.body.code], [500, 'INTERNAL_ERROR'])
    assert.equal(log.lines[0]?.level, 'error')
    assert.equal(log.lines[0]?.requestId, 'request-1')
    assert.deepEqual(failures[0]?.failed, { id: 'request-1', method: 'GET', path: '/fail', status: 500 })
  }
})

test('production hides the cause of a 5xx and shows that of a 4xx', async (t) => {
  let error: Error = new Error('password of the database')
  const { app, log } = makeApp(t, [failing(() => error)], { production: true })
  const internal = await app.inject({ path: '/fail' })
  assert.deepEqual(internal.body, {
    error: 'Internal server error',
    message: 'The server could not handle the request; if you report it, include the x-request-id header of this response',
    code: 'INTERNAL_ERROR',
  })
  assert.equal(log.lines[0]?.err?.message, 'password of the database')
  error = new ZinError('QUEUE_CONNECTION_ERROR', 'redis://secret is down', {
    status: 503,
    details: { url: 'redis://secret' },
    headers: { 'Retry-After': '1' },
  })
  const unavailable = await app.inject({ path: '/fail' })
  assert.deepEqual([unavailable.status, unavailable.headers['retry-after'], unavailable.body.code], [503, '1', 'QUEUE_CONNECTION_ERROR'])
  assert.ok(!unavailable.text.includes('secret'))
  assert.equal(unavailable.body.message, 'The service is temporarily unavailable; try again in a few seconds')
  error = new ZinError('BAD', 'the field x', { status: 400, details: [1] })
  assert.deepEqual((await app.inject({ path: '/fail' })).body, { error: 'Bad', message: 'the field x', code: 'BAD', details: [1] })
})

test('the body can be transformed, and a failing transformation is logged and ignored', async (t) => {
  const transform = {
    active: true,
    call: async (body: ErrorBody, error: Error) => ({ ...body, docs: `https://docs.example/${body.code}`, name: error.name }),
  }
  const { app } = makeApp(t, [], { transformErrorBody: transform })
  const response = await app.inject({ path: '/x' })
  assert.deepEqual([response.status, response.body.docs, response.body.name], [404, 'https://docs.example/NOT_FOUND', 'ZinError'])
  const broken = makeApp(t, [], {
    transformErrorBody: {
      active: true,
      call: async () => {
        throw new Error('no')
      },
    },
  })
  assert.equal((await broken.app.inject({ path: '/x' })).body.code, 'NOT_FOUND')
  assert.equal(broken.log.lines[0]?.level, 'error')
})

test('a failing error listener does not change the response', async (t) => {
  const { app, log } = makeApp(t, [failing(() => new Error('x'))], {
    onError: () => {
      throw new Error('listener')
    },
  })
  assert.equal((await app.inject({ path: '/fail' })).status, 500)
  assert.equal(log.lines.length, 2)
})

test('a response that cannot be written as JSON is 500', async (t) => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const { app } = makeApp(t, [
    route({ method: 'GET', path: '/circular', handler: () => circular }),
    route({ method: 'GET', path: '/later', handler: async () => circular }),
    route({ method: 'GET', path: '/live', probe: true, handler: () => circular }),
    route({
      method: 'GET',
      path: '/class',
      handler: () =>
        new (class Node {
          self = this
        })(),
    }),
  ])
  for (const path of ['/circular', '/later', '/live', '/class'])
    assert.deepEqual((await app.inject({ path })).body.code, 'INTERNAL_ERROR', path)
})

test('bigints are sent with all their digits, by HEAD with the same length, and as events', async (t) => {
  const exact = { id: 2n ** 63n - 1n, list: [0n, -1n], plain: 1 }
  const sent = '{"id":"9223372036854775807","list":["0","-1"],"plain":1}'
  for (const production of [true, false]) {
    const { app } = makeApp(t, [route({ method: 'GET', path: '/big', handler: () => exact })], { production })
    assert.equal((await app.inject({ path: '/big' })).text, sent)
    const head = await app.inject({ method: 'HEAD', path: '/big' })
    assert.deepEqual([head.headers['content-length'], head.text], [`${sent.length}`, ''])
  }
})

test('a value that JSON would empty or leave out is an error outside of production, and names the field', async (t) => {
  const values: Readonly<Record<string, () => unknown>> = {
    function: () => () => 1,
    symbol: () => Symbol('x'),
    Map: () => new Map([[1, 2]]),
    Set: () => new Set([1]),
    Error: () => new Error('x'),
    Promise: () => Promise.resolve(1),
    RegExp: () => /a/,
    URLSearchParams: () => new URLSearchParams('a=b'),
    Headers: () => new Headers({ a: 'b' }),
    Uint8Array: () => new Uint8Array(2),
    Buffer: () => Buffer.alloc(2),
    ArrayBuffer: () => new ArrayBuffer(2),
    Blob: () => new Blob(['x']),
    AsyncGenerator: async function* () {
      yield 1
    },
  }
  const routes = Object.entries(values).map(([name, make]) =>
    route({ method: 'GET', path: `/${name}`, handler: () => ({ list: [{ held: make() }] }) }),
  )
  const { app, log } = makeApp(t, routes)
  const production = makeApp(t, routes, { production: true })
  for (const name of Object.keys(values)) {
    const { status, body } = await app.inject({ path: `/${name}` })
    assert.deepEqual([status, body.code], [500, 'UNSENDABLE_VALUE'], name)
    assert.match(body.message, new RegExp(`^a ${name} in the field "held" cannot be sent as JSON`))
    assert.equal((await production.app.inject({ path: `/${name}` })).status, 200)
  }
  assert.equal(log.lines.length, Object.keys(values).length)
})

test('values that JSON writes as they are meant pass outside of production', async (t) => {
  class Point {
    x = 1
  }
  const values = {
    date: new Date(0),
    url: new URL('http://a/b'),
    point: new Point(),
    none: {},
    list: [],
    bare: Object.create(null),
    nothing: undefined,
  }
  const { app, log } = makeApp(t, [route({ method: 'GET', path: '/x', handler: () => values })])
  assert.equal((await app.inject({ path: '/x' })).text, JSON.stringify(values))
  assert.deepEqual(log.lines, [])
})

test('a stream that breaks off cuts the connection and is logged', async (t) => {
  const broken = async function* (): AsyncGenerator<string> {
    yield 'part'
    throw new Error('disk failed')
  }
  const { app, log } = makeApp(t, [route({ method: 'GET', path: '/stream', handler: () => Readable.from(broken()) })])
  await assert.rejects(app.inject({ path: '/stream' }))
  assert.deepEqual(
    log.lines.map((line) => [line.level, line.err?.message]),
    [['error', 'disk failed']],
  )
})

test('a refusal is never cached, whoever sends it; other errors may set their own Cache-Control', async (t) => {
  const cached = (status: number, cacheControl?: string) =>
    route({
      method: 'GET',
      path: `/${status}/${cacheControl ?? 'unsaid'}`,
      handler: (ctx) => {
        ctx.status = status
        if (cacheControl !== undefined) ctx.set('Cache-Control', cacheControl)
        return { error: 'x' }
      },
    })
  const cases = [
    [401, undefined, 'no-store'],
    [401, 'public', 'no-store'],
    [403, 'public', 'no-store'],
    [404, undefined, 'no-store'],
    [404, 'public', 'public'],
    [503, undefined, 'no-store'],
    [200, undefined, undefined],
  ] as const
  const { app } = makeApp(
    t,
    cases.map(([status, said]) => cached(status, said)),
  )
  for (const [status, said, kept] of cases) {
    const response = await app.inject({ path: `/${status}/${said ?? 'unsaid'}` })
    assert.deepEqual([response.status, response.headers['cache-control']], [status, kept])
  }
})
