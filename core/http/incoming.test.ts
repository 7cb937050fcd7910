import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { captureBody } from './body.js'
import { exchange, listen, makeApp, RawClient, rawRequest, route, statusOf } from './test-support.js'

const json = route({ method: 'POST', path: '/json', body: Type.Object({}), handler: ({ input }) => input.body })
const ignores = route({ method: 'POST', path: '/ignores', handler: () => ({ ok: true }) })
const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
const chunks = (text: string, size: number): string =>
  `${text
    .match(new RegExp(`[^]{1,${size}}`, 'g'))
    ?.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    .join('')}0\r\n\r\n`

test('the chunks of one packet reach every reader of the body as one piece', async (t) => {
  const { app } = makeApp(t, [json])
  const seen: string[] = []
  app.addGlobal('test', async (ctx, next) => {
    for await (const piece of ctx.req) seen.push(String(piece))
    await next()
  })
  app.addRoute('test', ignores)
  app.compile()
  const response = await exchange(await listen(app), rawRequest('POST /ignores', chunked, chunks('{"a":12345}', 1)))
  assert.equal(statusOf(response), 200, response)
  assert.deepEqual(seen, ['{"a":12345}'])
})

test('a body of many chunks is read completely and in order, for every kind of route and size', async (t) => {
  const { app } = makeApp(t, [route({ ...json, bodyLimit: 1_000_000 })])
  const port = await listen(app)
  const text = JSON.stringify({ rows: Array.from({ length: 20_000 }, (_, row) => row) })
  for (const size of [7, 100, 5_000, 70_000]) {
    const response = await exchange(port, rawRequest('POST /json', chunked, chunks(text, size)))
    assert.equal(statusOf(response), 200, response.slice(0, 300))
    assert.equal(response.slice(response.indexOf('\r\n\r\n') + 4), text)
  }
})

test('a body in tiny chunks is refused if it is read, and the connection is closed in any case', async (t) => {
  const { app } = makeApp(t, [route({ ...json, bodyLimit: 1_000_000 }), route({ ...ignores, bodyLimit: 1_000_000 })])
  app.addMiddleware('test', {
    key: 'sign',
    handler: async (ctx, next) => {
      await captureBody(ctx)
      await next()
    },
  })
  app.addRoute('test', route({ ...json, path: '/signed', use: ['sign'], bodyLimit: 1_000_000 }))
  app.compile()
  const port = await listen(app)
  const body = chunks('x'.repeat(500_000), 1)
  const expected = [
    ['/json', 400, 'BODY_FRAGMENTED'],
    ['/ignores', 200, '"ok":true'],
    ['/signed', 400, 'BODY_FRAGMENTED'],
    ['/nowhere', 404, 'NOT_FOUND'],
  ] as const
  const send = async ([path, status, code]: (typeof expected)[number]): Promise<void> => {
    const client = await RawClient.open(port)
    client.send(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${chunked.join('\r\n')}\r\n\r\n${body}`)
    const response = await client.until(/"(code":"\w+"|ok":true)\}/)
    assert.equal(statusOf(response), status, path)
    assert.match(response, new RegExp(code))
    assert.match(response, /connection: close/i)
    await client.closed
  }
  await Promise.all(expected.map(send))
})

test('clients that send many chunks do not block others, and are served, too', async (t) => {
  const size = route({
    method: 'POST',
    path: '/size',
    bodyType: 'raw',
    bodyLimit: 1_000_000,
    handler: ({ input }) => ({ size: input.body.length }),
  })
  const { app } = makeApp(t, [size, route({ method: 'GET', path: '/hello', handler: () => 'hello' })])
  const port = await listen(app)
  const clients = await Promise.all(Array.from({ length: 10 }, () => RawClient.open(port)))
  const pieces = '6\r\nxxxxxx\r\n'.repeat(20_000)
  for (const client of clients) client.send(`POST /size HTTP/1.1\r\nHost: localhost\r\n${chunked.join('\r\n')}\r\n\r\n${pieces}`)
  assert.equal(statusOf(await exchange(port, rawRequest('GET /hello'))), 200)
  for (const client of clients) client.send('0\r\n\r\n')
  for (const client of clients) await client.until(/\{"size":120000\}$/)
  for (const client of clients) client.socket.destroy()
})

test('a handler may capture a body that its route does not declare', async (t) => {
  const { app } = makeApp(t, [route({ ...ignores, handler: async (ctx) => ({ size: (await captureBody(ctx)).length }) })])
  const port = await listen(app)
  const response = await exchange(port, rawRequest('POST /ignores', chunked, chunks('{"a":1}', 2)))
  assert.match(response, /\{"size":7\}$/)
})
