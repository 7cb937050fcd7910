import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { exchange, listen, makeApp, rawRequest, route, statusOf } from './test-support.js'

const hello = route({ method: 'GET', path: '/hello', handler: () => ({ hello: true }) })
const echo = route({ method: 'POST', path: '/echo', body: Type.Object({}), handler: ({ input }) => input.body })

test('of transfer codings only chunked is taken, and the connection of any other is closed', async (t) => {
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

test('early data is taken for safe methods only, however often and with whatever value it is marked', async (t) => {
  const port = await listen(makeApp(t, [hello, echo]).app)
  const json = ['Content-Type: application/json', 'Content-Length: 2']
  for (const marks of [['Early-Data: 1'], ['Early-Data: 1', 'Early-Data: 1'], ['Early-Data: 1, 1'], ['Early-Data: ?1'], ['Early-Data:']]) {
    assert.equal(statusOf(await exchange(port, rawRequest('POST /echo', [...json, ...marks], '{}'))), 425, marks.join())
    assert.equal(statusOf(await exchange(port, rawRequest('GET /hello', marks))), 200, marks.join())
  }
})

test('behind a trusted proxy the forwarded host must be listed, too, and without one it is ignored', async (t) => {
  const host = route({ method: 'GET', path: '/host', handler: (ctx) => ({ host: ctx.host }) })
  const ask = async (trustedProxies: number, forwarded: string, allowedHosts?: readonly string[]) => {
    const { app } = makeApp(t, [host], { trustedProxies, allowedHosts })
    const { status, body } = await app.inject({ path: '/host', headers: { 'x-forwarded-host': forwarded } })
    return status === 200 ? body.host : body.code
  }
  const listed = ['inner.example', 'app.example']
  assert.equal(await ask(1, 'app.example', listed), 'app.example')
  for (const evil of ['evil.test', 'evil.test, app.example', 'app.example@evil.test', 'app.example.evil.test'])
    assert.equal(await ask(1, evil, listed), 'MISDIRECTED', evil)
  assert.equal(await ask(0, 'evil.test', listed), 'inner.example')
  assert.equal(await ask(1, 'any.test'), 'any.test')
})

test('a backslash in a query is text, as in what fetch sends', async (t) => {
  const query = route({ method: 'GET', path: '/query', handler: ({ input }) => input.query })
  const port = await listen(makeApp(t, [query]).app)
  const response = await fetch(`http://127.0.0.1:${port}/query?path=C:\\a&b=\\`)
  assert.deepEqual(await response.json(), { path: 'C:\\a', b: '\\' })
})
