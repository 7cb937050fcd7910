import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { refuse } from './refusal-body.js'
import { requestContext } from './request-context.js'
import { exchange, listen, makeApp, rawRequest, route, statusOf } from './test-support.js'

const hello = route({ method: 'GET', path: '/hello', handler: () => ({ hello: true }) })
const echo = route({ method: 'POST', path: '/echo', body: Type.Object({}), handler: ({ input }) => input.body })

test('only the transfer coding chunked is accepted; for any other the connection is closed', async (t) => {
  const port = await listen(makeApp(t, [echo]).app)
  const body = '7\r\n{"a":1}\r\n0\r\n\r\n'
  const post = (line: string, ...headers: string[]) =>
    exchange(port, [`${line} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...headers, '', body].join('\r\n'))
  for (const headers of [
    ['Transfer-Encoding: gzip, chunked'],
    ['Transfer-Encoding: identity, chunked'],
    ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked, chunked'],
  ]) {
    const response = await post('POST /echo', ...headers)
    assert.equal(statusOf(response), 400, headers.join())
    assert.match(response, /connection: close/i)
  }
  const old = await exchange(
    port,
    `POST /echo HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
  )
  assert.match(old, /UNSUPPORTED_TRANSFER_ENCODING/)
  assert.match(await post('POST /echo', 'Transfer-Encoding: Chunked', 'Connection: close'), /200 OK[\s\S]*\{"a":1\}/)
})

test('early data is accepted for safe methods only, whatever the number and value of its headers', async (t) => {
  const port = await listen(makeApp(t, [hello, echo]).app)
  const json = ['Content-Type: application/json', 'Content-Length: 2']
  for (const marks of [['Early-Data: 1'], ['Early-Data: 1', 'Early-Data: 1'], ['Early-Data: 1, 1'], ['Early-Data: ?1'], ['Early-Data:']]) {
    assert.equal(statusOf(await exchange(port, rawRequest('POST /echo', [...json, ...marks], '{}'))), 425, marks.join())
    assert.equal(statusOf(await exchange(port, rawRequest('GET /hello', marks))), 200, marks.join())
  }
})

test('behind a trusted proxy the forwarded host must be allowed, too; without one it is ignored', async (t) => {
  const host = route({ method: 'GET', path: '/host', handler: (ctx) => ({ host: ctx.host }) })
  const ask = async (trustedProxies: number, forwarded: string, allowedHosts?: readonly string[]) => {
    const { app } = makeApp(t, [host], { trustedProxies, allowedHosts })
    const { status, body } = await app.inject({ path: '/host', headers: { 'x-forwarded-host': forwarded } })
    return status === 200 ? body.host : body.code
  }
  const listed = ['inner.example', 'app.example']
  assert.equal(await ask(1, 'app.example', listed), 'app.example')
  assert.equal(await ask(1, 'evil.test, app.example', listed), 'app.example')
  for (const evil of ['evil.test', 'app.example, evil.test', 'app.example@evil.test', 'app.example.evil.test'])
    assert.equal(await ask(1, evil, listed), 'MISDIRECTED', evil)
  assert.equal(await ask(0, 'evil.test', listed), 'inner.example')
  assert.equal(await ask(1, 'any.test'), 'any.test')
})

test('a backslash in a query is accepted, as fetch sends it', async (t) => {
  const query = route({ method: 'GET', path: '/query', handler: ({ input }) => input.query })
  const port = await listen(makeApp(t, [query]).app)
  const response = await fetch(`http://127.0.0.1:${port}/query?path=C:\\a&b=\\`)
  assert.deepEqual(await response.json(), { path: 'C:\\a', b: '\\' })
})

test('the phases run in order: the first of many faults decides, and a probe is not checked', async (t) => {
  const { app } = makeApp(t, [route({ method: 'GET', path: '/probe', probe: true, handler: () => ({}) })], {
    allowedHosts: ['app.example'],
  })
  app.addGlobal('test', (ctx, next) => {
    if (ctx.get('x-global') !== 'ok') ctx.throw(429)
    return next()
  })
  app.addMiddleware('test', { key: 'guard', handler: (ctx, next) => (ctx.get('x-user') === '' ? refuse(ctx, 'guard') : next()) })
  app.addRoute('test', { ...echo, use: ['guard'], body: Type.Object({ a: Type.Integer() }) })
  app.compile()
  const port = await listen(app)
  const codeOf = async (line: string, headers: readonly string[], body: string): Promise<string> => {
    const text = await exchange(port, [`${line} HTTP/1.1`, 'Connection: close', ...headers, '', body].join('\r\n'))
    return /"code":"(\w+)"/.exec(text)?.[1] ?? String(statusOf(text))
  }
  const steps: readonly (readonly [code: string, wrong: string, right: string])[] = [
    ['MISDIRECTED', 'Host: evil.test', 'Host: app.example'],
    ['OTHER_APP', 'X-Zin-App: other', 'X-Zin-App: test%20app'],
    ['BAD_REQUEST_TARGET', 'POST /a/../nowhere', 'POST /nowhere'],
    ['DUPLICATE_HEADER', 'Content-Type: text/plain\r\nContent-Type: text/plain', 'Content-Type: text/plain'],
    ['UNSUPPORTED_TRANSFER_ENCODING', 'Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: chunked'],
    ['EXPECTATION_FAILED', 'Expect: 200-ok', 'Z: y'],
    ['TOO_EARLY', 'Early-Data: 1', 'X: y'],
    ['TOO_MANY_REQUESTS', 'X-Global: no', 'X-Global: ok'],
    ['NOT_FOUND', 'POST /nowhere', 'POST /echo'],
    ['UNAUTHORIZED', 'X-User:', 'X-User: ada'],
    ['UNSUPPORTED_MEDIA_TYPE', 'Content-Type: text/plain', 'Content-Type: application/json'],
    ['INVALID_JSON', '1\r\n{\r\n0\r\n\r\n', '2\r\n{}\r\n0\r\n\r\n'],
    ['VALIDATION_FAILED', '2\r\n{}\r\n0\r\n\r\n', '7\r\n{"a":1}\r\n0\r\n\r\n'],
  ]
  const isHeader = (wrong: string): boolean => /^[A-Z][\w-]*:/.test(wrong) && wrong !== 'Content-Type: text/plain'
  const send = {
    line: 'POST /a/../nowhere',
    headers: steps.map(([, wrong]) => wrong).filter(isHeader),
    body: '1\r\n{\r\n0\r\n\r\n',
  }
  assert.equal(await codeOf('GET /probe', send.headers, send.body), '200')
  for (const [code, wrong, right] of steps) {
    assert.equal(await codeOf(send.line, send.headers, send.body), code)
    if (send.line === wrong) send.line = right
    else if (send.body === wrong) send.body = right
    else send.headers = send.headers.map((header) => (header === wrong ? right : header))
  }
  assert.equal(await codeOf(send.line, send.headers, send.body), '200')
})

test('a route can omit the request context if nothing else could use it', async (t) => {
  const handler = () => ({ context: requestContext()?.route?.path ?? 'none' })
  const plain = route({ method: 'POST', path: '/plain', context: false, handler })
  const usual = route({ method: 'GET', path: '/plain', handler })
  const { app } = makeApp(t, [plain, usual])
  const seen = async (method: 'GET' | 'POST') => {
    const { body, headers } = await app.inject({ method, path: '/plain' })
    assert.ok(headers['x-request-id'])
    return body.context
  }
  assert.deepEqual([await seen('POST'), await seen('GET')], ['none', '/plain'])
  const refused = await app.inject({ method: 'POST', path: '/plain', headers: { 'x-zin-app': 'another' } })
  assert.ok(refused.status >= 400)
  app.addGlobal('global', (_, next) => next())
  app.compile()
  assert.equal(await seen('POST'), '/plain')
  assert.throws(() => makeApp(t, [route({ method: 'GET', path: '/p/:id', context: false, handler })]).app.compile(), /static path/)
})
