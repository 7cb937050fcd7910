import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Context, Middleware } from 'koa'
import { Type } from 'typebox'
import { HttpApp } from './app.js'
import { captureBody } from './body.js'
import { exchange, listen, makeApp, RawClient, rawRequest, route, statusOf } from './test-support.js'

const { koaBody } = createRequire(import.meta.url)('koa-body') as { readonly koaBody: () => Middleware }
const hello = route({ method: 'GET', path: '/hello', handler: () => ({ hello: true }) })
const any = route({ method: 'GET', path: '/*rest', handler: (ctx) => ({ path: ctx.path, rest: ctx.input.params.rest }) })
const echo = route({ method: 'POST', path: '/echo', body: Type.Object({}), handler: ({ input }) => input.body })

/** A route whose requests wait until the test releases them. */
function gate(): { readonly slow: typeof hello; readonly entered: Promise<void>; open(): void } {
  let open: () => void = () => undefined
  let enter: () => void = () => undefined
  const opened = new Promise<void>((resolve) => void (open = resolve))
  const entered = new Promise<void>((resolve) => void (enter = resolve))
  const handler = async (): Promise<object> => {
    enter()
    await opened
    return { slow: true }
  }
  return { slow: { ...hello, path: '/slow', handler }, entered, open: () => open() }
}

test('S1: the path that is routed is the path of the request line, or the request is refused', async (t) => {
  const port = await listen(makeApp(t, [any]).app)
  const refused = [
    '//evil/api',
    '/a/../b',
    '/a/./b',
    '/a/%2e%2e/b',
    '/a\\b',
    '/a#b',
    'http://localhost//a',
    'http://localhost/a/../b',
    'http://other/a',
    'localhost/a',
    '*',
    '/a"b',
    '/a{b}',
    '/\x7f',
    '/ä',
    '/a\x0b',
    '/%zz/..',
    'https://evil/',
    '/a/..',
    '/%2e',
    '/a`b',
    '/a<b>',
  ]
  for (const target of refused) {
    const response = await exchange(port, rawRequest(`GET ${target}`))
    assert.equal(statusOf(response), 400, `${JSON.stringify(target)}: ${response.slice(0, 200)}`)
  }
  const accepted = ['/a', '/a//b', '/a%2Fb', '/a/b/', '/.x', '/a;b=c', '/a?b=/../c', '/a%20b?']
  for (const target of accepted) {
    const response = await exchange(port, rawRequest(`GET ${target}`))
    assert.equal(statusOf(response), 200, target)
    assert.ok(response.includes(JSON.stringify({ path: new URL(target, 'http://localhost').pathname }).slice(0, -1)), response)
  }
  assert.equal(statusOf(await exchange(port, rawRequest('OPTIONS *'))), 204)
  assert.equal(await exchange(port, rawRequest('CONNECT localhost:80')), '')
})

test('S8: repeated headers that must be unique are refused, others are not', async (t) => {
  const { app } = makeApp(t, [hello, echo])
  const port = await listen(app)
  const get = async (...headers: string[]): Promise<number> => statusOf(await exchange(port, rawRequest('GET /hello', headers)))
  const repeated: [string, string][] = [
    ['Authorization: Bearer a', 'authorization: Bearer b'],
    ['Content-Type: text/plain', 'content-type: application/json'],
    ['Content-Encoding: identity', 'Content-Encoding: gzip'],
    ['Host: evil.test', 'X: y'],
    ['Content-Digest: a', 'Content-Digest: b'],
  ]
  for (const headers of repeated) assert.equal(await get(...headers), 400, headers.join())
  assert.equal(await get('Accept: a', 'Accept: b', 'Cookie: a=1', 'Cookie: b=2', 'Authorization: Bearer a'), 200)
  assert.equal(await get('Content-Length: 0', 'Content-Length: 0'), 400)
})

test('invalid HTTP gets an error body, and the connection is closed', async (t) => {
  const port = await listen(makeApp(t, [hello]).app)
  for (const bytes of [
    'nonsense\r\n\r\n',
    'GET /hello HTTP/1.1\r\nHost localhost\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    '\x16\x03\x01\x02\x00',
  ]) {
    const response = await exchange(port, bytes)
    assert.equal(statusOf(response), 400, JSON.stringify(response))
    assert.equal(JSON.parse(response.split('\r\n\r\n')[1] ?? '').code, 'BAD_REQUEST')
  }
  const large = await exchange(port, rawRequest('GET /hello', [`X: ${'x'.repeat(20_000)}`]))
  assert.equal(statusOf(large), 431)
  const hostless = await exchange(port, 'GET /hello HTTP/1.1\r\n\r\n')
  assert.equal(statusOf(hostless), 400)
  assert.match(hostless, /^connection: close\r$/im)
  assert.equal(
    statusOf(await exchange(port, rawRequest('POST /echo', ['Content-Length: 3', 'Transfer-Encoding: chunked'], '0\r\n\r\n'))),
    400,
  )
})

test('a truncated body affects no other request', async (t) => {
  const { app, failures, log } = makeApp(t, [hello, echo])
  const port = await listen(app)
  for (const body of ['{"a"', '']) {
    const client = await RawClient.open(port)
    client.send(rawRequest('POST /echo', ['Content-Type: application/json', 'Content-Length: 100'], body))
    client.socket.end()
    await client.closed
    assert.ok(client.text === '' || statusOf(client.text) === 400, client.text)
  }
  const broken = await exchange(port, rawRequest('POST /echo', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], 'zz\r\n'))
  assert.ok(broken === '' || statusOf(broken) === 400, broken)
  assert.equal((await fetch(`http://127.0.0.1:${port}/hello`)).status, 200)
  assert.deepEqual([failures, log.lines.filter((line) => line.level === 'error')], [[], []])
})

test('a client that sends byte by byte is served', async (t) => {
  const port = await listen(makeApp(t, [echo]).app)
  const client = await RawClient.open(port)
  client.socket.setNoDelay(true)
  for (const byte of rawRequest('POST /echo', ['Content-Type: application/json', 'Content-Length: 7'], '{"a":1}')) {
    client.send(byte)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await client.closed
  assert.match(client.text, /200 OK[\s\S]*\{"a":1\}$/)
})

test('a client that is still sending an oversized body gets the 413 before the connection ends', async (t) => {
  const port = await listen(makeApp(t, [echo]).app)
  for (const framing of ['Content-Length: 20000000', 'Transfer-Encoding: chunked']) {
    const client = await RawClient.open(port)
    const body = 'x'.repeat(64 * 1024)
    const piece = framing.startsWith('T') ? `${body.length.toString(16)}\r\n${body}\r\n` : body
    client.send(`POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`)
    for (let i = 0; i < 40; i++) client.send(piece)
    const response = await client.until(/"PAYLOAD_TOO_LARGE"\}/)
    assert.equal(statusOf(response), 413)
    assert.match(response, /connection: close/i)
    client.socket.end()
    await client.closed
  }
})

/** Ways to read a body: the core's, those of Node, and those of other people. */
const readers: Readonly<Record<string, (ctx: Context) => unknown>> = {
  captureBody: async (ctx) => String(await captureBody(ctx)),
  iteration: (ctx) => text(ctx.req),
  pipe: (ctx) => ctx.req.pipe(new PassThrough()),
  'body = req': (ctx) => ctx.req,
  listeners: (ctx) =>
    new Promise((resolve) => {
      let read = ''
      ctx.req.setEncoding('utf8')
      ctx.req.on('data', (piece: string) => void (read += piece)).on('end', () => resolve(read))
    }),
  'koa-body': async (ctx) => {
    await koaBody()(ctx as never, async () => undefined)
    return String((ctx.request as { readonly body?: unknown }).body)
  },
}
const expecting = ['Expect: 100-continue', 'Content-Type: text/plain', 'Content-Length: 4']

for (const [name, handler] of Object.entries(readers)) {
  test(`whoever reads the body asks a client for it that expects 100-continue: ${name}`, async (t) => {
    const port = await listen(makeApp(t, [route({ method: 'POST', path: '/read', handler: handler as never })]).app)
    const client = await RawClient.open(port)
    client.send(rawRequest('POST /read', expecting))
    await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
    client.send('body')
    await client.closed
    assert.match(client.text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK[\s\S]*body/)
    assert.equal(client.text.split('100 Continue').length, 2)
    // RFC 9110 10.1.1: the expectation of a client of HTTP/1.0 is ignored.
    const old = await exchange(port, rawRequest('POST /read', expecting, 'body').replace('HTTP/1.1', 'HTTP/1.0'))
    assert.match(old, /^HTTP\/1\.1 200 OK[\s\S]*body/)
    assert.doesNotMatch(old, /100 Continue/)
  })
}

test('100 Continue is never part of a response whose head was sent before the body is read', async (t) => {
  const late = route({
    method: 'POST',
    path: '/late',
    handler: async (ctx) => {
      ctx.respond = false
      ctx.res.writeHead(200)
      ctx.res.write('read: ')
      ctx.res.end(await captureBody(ctx))
    },
  })
  const port = await listen(makeApp(t, [late]).app)
  assert.doesNotMatch(await exchange(port, rawRequest('POST /late', expecting, 'body')), /100 Continue/)
})

test('the connection of a client stays open that expects 100-continue but does not wait for it', async (t) => {
  let arrived = (): void => undefined
  const { app } = makeApp(t, [route({ method: 'POST', path: '/read', handler: async (ctx) => String(await captureBody(ctx)) })])
  app.addGlobal('test', async (ctx, next) => {
    while (!ctx.req.complete) await new Promise((resolve) => setImmediate(resolve))
    arrived()
    await next()
  })
  app.compile()
  const client = await RawClient.open(await listen(app))
  const complete = new Promise<void>((resolve) => void (arrived = resolve))
  client.send(rawRequest('POST /read', expecting, 'body').replace('Connection: close\r\n', ''))
  await complete
  assert.match(await client.until(/body$/), /Connection: keep-alive/)
  client.socket.destroy()
})

test('res.end keeps its encoding and calls back, also if a client still sends', async (t) => {
  let ended = (): void => undefined
  const called = new Promise<void>((resolve) => void (ended = resolve))
  const ends = route({
    method: 'POST',
    path: '/ends',
    handler: (ctx) => {
      ctx.respond = false
      setImmediate(() => ctx.res.end('\xe9', 'latin1', ended))
    },
  })
  const client = await RawClient.open(await listen(makeApp(t, [ends], { bodyLimit: 100_000 }).app))
  client.send(rawRequest('POST /ends', ['Content-Length: 70000'], 'x'))
  await client.until(/\r\n\r\n1\r\n\xe9\r\n/)
  client.send('x'.repeat(69_999))
  await called
  await client.closed
})

test('what is set after the response was sent changes nothing that is reported', async (t) => {
  const ended: { readonly status: number }[] = []
  let late: Context | undefined
  const { app } = makeApp(t, [route({ method: 'GET', path: '/large', handler: () => ({ text: 'x'.repeat(20_000_000) }) })], {
    requestEnd: { active: true, call: (end) => void ended.push(end) },
  })
  app.addGlobal('test', (ctx, next) => {
    late = ctx
    return next()
  })
  app.compile()
  const client = await RawClient.open(await listen(app))
  client.send(rawRequest('GET /large'))
  await client.until(/xxx/)
  client.socket.pause()
  if (late === undefined) throw new Error('no request')
  assert.equal(ended.length, 0)
  late.status = 503
  late.body = { replaced: true }
  client.socket.resume()
  await client.closed
  while (ended.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(ended[0]?.status, 200)
})

test('a connection stays open after a small unread body', async (t) => {
  const port = await listen(makeApp(t, [hello]).app)
  const client = await RawClient.open(port)
  client.send('POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n')
  await client.until(/NOT_FOUND/)
  client.send('bytesGET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  await client.closed
  assert.match(client.text, /\{"hello":true\}$/)
})

test('a client that expects 100-continue gets it if the body is read, and otherwise a final response', async (t) => {
  const port = await listen(makeApp(t, [echo]).app)
  const headers = ['Expect: 100-continue', 'Content-Type: application/json', 'Content-Length: 7']
  const wanted = await RawClient.open(port)
  wanted.send(rawRequest('POST /echo', headers))
  await wanted.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
  wanted.send('{"a":1}')
  await wanted.closed
  assert.match(wanted.text, /HTTP\/1\.1 200 OK[\s\S]*\{"a":1\}$/)
  for (const request of ['POST /nowhere', 'GET /echo']) {
    const unwanted = await exchange(port, rawRequest(request, headers).replace('Connection: close\r\n', ''))
    assert.ok([404, 405].includes(statusOf(unwanted)), unwanted)
  }
  const tooLarge = await exchange(
    port,
    rawRequest('POST /echo', [...headers.slice(0, 2), 'Content-Length: 5000']).replace('Connection: close\r\n', ''),
  )
  assert.equal(statusOf(tooLarge), 413)
})

test('requests without a host, with another expectation, in absolute form and for the whole server get responses in our form', async (t) => {
  const port = await listen(makeApp(t, [hello]).app)
  const ask = async (line: string, ...headers: readonly string[]) =>
    exchange(port, [`${line} HTTP/1.1`, 'Connection: close', ...headers, '', ''].join('\r\n'))
  const missing = await ask('GET /hello')
  assert.deepEqual([statusOf(missing), /"code":"(\w+)"/.exec(missing)?.[1]], [400, 'HOST_MISSING'])
  const expecting = await ask('GET /hello', 'Host: localhost', 'Expect: the-moon')
  assert.deepEqual([statusOf(expecting), /"code":"(\w+)"/.exec(expecting)?.[1]], [417, 'EXPECTATION_FAILED'])
  assert.match(await ask('GET http://localhost/hello', 'Host: localhost'), /200 OK[\s\S]*\{"hello":true\}$/)
  assert.equal(statusOf(await ask('GET http://evil.test/hello', 'Host: localhost')), 400)
  assert.equal(statusOf(await ask('OPTIONS *', 'Host: localhost')), 204)
  assert.equal(statusOf(await ask('GET *', 'Host: localhost')), 400)
})

test('pipelined requests get their responses in order', async (t) => {
  const { slow, open } = gate()
  const port = await listen(makeApp(t, [hello, slow]).app)
  const client = await RawClient.open(port)
  client.send(`GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n${rawRequest('GET /hello')}`)
  open()
  await client.closed
  assert.match(client.text, /\{"slow":true\}HTTP\/1\.1 200 OK[\s\S]*\{"hello":true\}$/)
})

test('a port in use is reported with a helpful message, and the app can listen on another one', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const { app } = makeApp(t, [hello])
  await assert.rejects(app.listen({ host: '127.0.0.1', port }), (error: Error & { code: string }) => {
    assert.equal(error.code, 'ZIN_LISTEN_FAILED')
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}.*in use.*PORT=`))
    return true
  })
  assert.ok((await listen(app)) > 0)
})

test('draining finishes requests in flight, closes their connections and accepts no more', async (t) => {
  const { slow, entered, open } = gate()
  const { app } = makeApp(t, [slow])
  const port = await listen(app)
  const client = await RawClient.open(port)
  client.send('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await entered
  const drained = app.drain({ deadlineMs: 10_000 })
  await assert.rejects(fetch(`http://127.0.0.1:${port}/slow`))
  open()
  assert.deepEqual(await drained, { forced: 0 })
  await client.closed
  assert.match(client.text, /200 OK[\s\S]*connection: close[\s\S]*\{"slow":true\}$/i)
})

test('draining closes connections that are idle or never sent anything', async (t) => {
  const { app } = makeApp(t, [hello])
  const port = await listen(app)
  const silent = await RawClient.open(port)
  const idle = await RawClient.open(port)
  idle.send('GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await idle.until(/"hello":true\}/)
  assert.deepEqual(await app.drain({ deadlineMs: 10_000 }), { forced: 0 })
  await Promise.all([silent.closed, idle.closed])
})

test('a request that arrives on an open connection while draining begins still gets its response', async (t) => {
  const { app } = makeApp(t, [hello])
  const client = await RawClient.open(await listen(app))
  client.send('GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await client.until(/"hello":true\}/)
  const drained = app.drain({ deadlineMs: 10_000 })
  client.send('GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n')
  assert.deepEqual(await drained, { forced: 0 })
  await client.closed
  assert.equal(client.text.match(/"hello":true/g)?.length, 2)
})

test('connections that are busy at the deadline are cut and counted', async (t) => {
  const { slow, entered, open } = gate()
  const { app } = makeApp(t, [slow])
  const client = await RawClient.open(await listen(app))
  client.send('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await entered
  assert.deepEqual(await app.drain({ deadlineMs: 150 }), { forced: 1 })
  await client.closed
  assert.equal(client.text, '')
  open()
})

test('while draining, responses close their connection', async (t) => {
  const { app } = makeApp(t, [hello])
  const port = await listen(app)
  app.setDraining()
  const response = await fetch(`http://127.0.0.1:${port}/hello`)
  assert.deepEqual([response.status, response.headers.get('connection')], [200, 'close'])
  await response.text()
})

test('no request is lost under load on many connections while the app drains', async (t) => {
  const { app } = makeApp(t, [{ ...hello, handler: async () => (await new Promise((resolve) => setImmediate(resolve)), { hello: true }) }])
  const port = await listen(app)
  const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(port)))
  let sent = 0
  let drained: Promise<{ readonly forced: number }> | undefined
  // Each client sends its next request on the same connection as soon as it has a response that leaves the connection open.
  const work = clients.map(async (client) => {
    for (let responses = 1; ; responses++) {
      client.text = ''
      client.send('GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n')
      sent++
      if (/connection: close/i.test(await client.until(/"hello":true\}$/))) return responses
      if (sent > 400) drained ??= app.drain({ deadlineMs: 10_000 })
    }
  })
  const answered = (await Promise.all(work)).reduce((sum, count) => sum + count, 0)
  assert.equal(answered, sent)
  assert.deepEqual(await drained, { forced: 0 })
})

test('closing twice, or closing an app that never listened, is not an error', async (t) => {
  const { app } = makeApp(t, [hello])
  await app.close()
  assert.deepEqual(await app.drain({ deadlineMs: 1000 }), { forced: 0 })
  await app.close()
  assert.ok(app instanceof HttpApp)
})

test('draining uses real time, even if the clock of the app stands still', async (t) => {
  const { app } = makeApp(t, [hello], { clock: { now: () => 0, monotonic: () => 0 } })
  const client = await RawClient.open(await listen(app))
  client.send('GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await client.until(/"hello":true/)
  assert.deepEqual(await app.drain({ deadlineMs: 10_000 }), { forced: 0 })
  await client.closed
})
