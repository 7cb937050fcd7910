import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { describe, it } from 'node:test'
import { definePlugin, Type } from 'zin'
import { jwt, role, tokensService } from 'zin/plugins/jwt'
import { createTestHost, describePlugin } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { websocket } from './index.js'
import { socketApp } from './testing/app.js'
import { refusal } from './testing/client.js'

const echo = { path: '/echo', handler: (socket: { send(message: unknown): boolean }, message: unknown) => void socket.send(message) }

/** Sends bytes and returns what comes back until the connection ends. */
async function exchange(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connectTcp(Number(port), hostname)
  let received = ''
  socket.on('data', (chunk) => (received += chunk.toString('latin1')))
  socket.on('error', () => undefined)
  socket.write(text)
  await once(socket, 'close')
  return received
}

function handshake(path: string, headers: Readonly<Record<string, string | undefined>> = {}, line = `GET ${path} HTTP/1.1`): string {
  const all: Readonly<Record<string, string | undefined>> = {
    Host: 'localhost',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return [line, ...lines, '', ''].join('\r\n')
}

describe('the handshake of a socket', () => {
  it('runs the guards of the route, and refuses with their status and body', async (t) => {
    const app = await socketApp(
      t,
      {},
      ({ socket }) => socket({ ...echo, use: ['auth'], onOpen: (client) => void client.send({ you: client.state.user.sub }) }),
      { plugins: [jwt()] },
    )
    const refused = await refusal(app.open('/echo'))
    assert.deepEqual([refused.status, refused.body.code, refused.headers['www-authenticate']], [401, 'UNAUTHORIZED', 'Bearer'])
    assert.match(String(refused.headers['x-request-id']), /^[\w.-]{8,}$/)
    const { token } = await app.host.service(tokensService).issue({ sub: 'ada' })
    const client = await app.open('/echo', { headers: { authorization: `Bearer ${token}` } })
    assert.deepEqual(await client.next(), { you: 'ada' })
  })

  it('runs guards that are listed themselves, which type the state beside the keys', async (t) => {
    const app = await socketApp(
      t,
      {},
      ({ socket }) =>
        socket({
          path: '/staff',
          use: ['auth', role('admin')],
          onOpen: (client) => void client.send({ you: client.state.user.sub satisfies string | number | undefined }),
          handler: () => undefined,
        }),
      { plugins: [jwt()] },
    )
    const as = async (name: string) => {
      const { token } = await app.host.service(tokensService).issue({ sub: 'ada', role: name })
      return app.open('/staff', { headers: { authorization: `Bearer ${token}` } })
    }
    assert.deepEqual(await (await as('admin')).next(), { you: 'ada' })
    assert.deepEqual([(await refusal(as('user'))).status, (await refusal(app.open('/staff'))).status], [403, 401])
  })

  it('takes the token of a browser from the subprotocols, and never sends it back', async (t) => {
    const app = await socketApp(t, {}, ({ socket }) => socket({ ...echo, use: ['auth'] }), { plugins: [jwt()] })
    const { token } = await app.host.service(tokensService).issue({ sub: 'ada' })
    const client = await app.open('/echo', { protocols: [`bearer.${token}`, 'zin'] })
    assert.equal(client.ws.protocol, 'zin')
    const alone = await refusal(app.open('/echo', { protocols: [`bearer.${token}`] }))
    assert.deepEqual([alone.status, alone.body.code], [400, 'SOCKET_PROTOCOL_REFUSED'])
    assert.doesNotMatch(JSON.stringify(alone.body), new RegExp(token.slice(-20)))
    const two = await refusal(app.open('/echo', { protocols: ['zin', `bearer.${token}`], headers: { authorization: 'Bearer x' } }))
    assert.deepEqual([two.status, two.body.code], [400, 'SOCKET_PROTOCOL_REFUSED'])
    assert.equal((await refusal(app.open('/echo', { protocols: ['zin', 'bearer.x.y.z'] }))).status, 401)
  })

  it('accepts pages of the app itself and of the listed origins only', async (t) => {
    const app = await socketApp(t, { origins: ['https://shop.example.com'] }, ({ socket }) => {
      socket(echo)
      socket({ ...echo, path: '/open', origins: ['*'] })
    })
    const { host } = new URL(app.url)
    for (const origin of [`http://${host}`, `https://${host}`, 'https://shop.example.com', undefined])
      await app.open('/echo', origin === undefined ? {} : { headers: { origin } })
    for (const origin of [
      'https://evil.example',
      'null',
      'http://shop.example.com',
      'https://shop.example.com:444',
      `http://${host}.evil.example`,
    ]) {
      const refused = await refusal(app.open('/echo', { headers: { origin } }))
      assert.deepEqual([origin, refused.status, refused.body.code], [origin, 403, 'SOCKET_ORIGIN_REFUSED'])
    }
    await app.open('/open', { headers: { origin: 'https://evil.example' } })
  })

  it('checks the host, and validates parameters and query', async (t) => {
    const app = await socketApp(
      t,
      {},
      ({ socket }) =>
        socket({
          path: '/rooms/:room',
          params: Type.Object({ room: Type.Integer() }),
          query: Type.Object({ last: Type.Integer({ default: 7 }) }),
          handler: (client) => void client.send({ room: client.params.room, last: client.query.last }),
        }),
      { app: { allowedHosts: ['localhost', '127.0.0.1'] } },
    )
    assert.equal((await refusal(app.open('/rooms/1', { headers: { host: 'evil.example' } }))).status, 421)
    const wrong = await refusal(app.open('/rooms/x'))
    assert.deepEqual([wrong.status, wrong.body.code, wrong.body.details[0].field], [400, 'VALIDATION_FAILED', 'params.room'])
    assert.equal((await refusal(app.open('/rooms/1?last=x'))).body.code, 'VALIDATION_FAILED')
    assert.equal((await refusal(app.open('/rooms/%ff'))).status, 400)
    const client = await app.open('/rooms/42')
    client.send({})
    assert.deepEqual(await client.next(), { room: 42, last: 7 })
  })

  it('answers everything else about its path with a status and a code', async (t) => {
    const app = await socketApp(t, {}, ({ socket, route }) => {
      socket(echo)
      route({ method: 'POST', path: '/plain', summary: 'x', body: Type.Object({}), handler: ({ input }) => ({ got: input.body }) })
    })
    const plain = await fetch(`${app.url}/echo`)
    assert.deepEqual([plain.status, plain.headers.get('upgrade'), (await plain.json()).code], [426, 'websocket', 'SOCKET_UPGRADE_REQUIRED'])
    assert.equal((await fetch(`${app.url}/echo`, { method: 'POST' })).status, 405)
    assert.equal((await refusal(app.open('/nowhere'))).status, 404)
    const cases: [string, Readonly<Record<string, string | undefined>>, string?][] = [
      ['no key', { 'Sec-WebSocket-Key': undefined }],
      ['a short key', { 'Sec-WebSocket-Key': 'abc' }],
      ['another version', { 'Sec-WebSocket-Version': '8' }],
      ['malformed protocols', { 'Sec-WebSocket-Protocol': 'a,,b' }],
      ['a protocol twice', { 'Sec-WebSocket-Protocol': 'zin, zin' }],
      ['an unknown protocol', { 'Sec-WebSocket-Protocol': 'graphql-ws' }],
      ['a malformed path', {}, 'GET /echo/../echo HTTP/1.1'],
    ]
    for (const [what, headers, line] of cases) {
      const text = await exchange(app.url, handshake('/echo', { ...headers, ...(line && { Connection: 'Upgrade, close' }) }, line))
      assert.match(text, /^HTTP\/1\.1 40[04] /, `${what}: ${text}`)
      assert.match(text, /"code":"(SOCKET_HANDSHAKE_INVALID|SOCKET_PROTOCOL_REFUSED|BAD_REQUEST_TARGET|NOT_FOUND)"/, what)
      assert.match(text, /Connection: close/i, what)
    }
    // Clients such as Java's ask every server for h2c, with a body.
    const body = '{"a":1}'
    const h2c = await exchange(
      app.url,
      `POST /plain HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    assert.match(h2c, /^HTTP\/1\.1 200 .*\{"got":\{"a":1\}\}/s)
  })

  it('keeps a connection open for later requests when it asks another route for an upgrade', async (t) => {
    const app = await socketApp(t, {}, ({ socket, route }) => {
      socket(echo)
      route({ method: 'GET', path: '/plain', summary: 'x', handler: () => ({ ok: true }) })
    })
    const { hostname, port } = new URL(app.url)
    const req = request({ hostname, port, path: '/plain', headers: { connection: 'upgrade', upgrade: 'websocket' } }).end()
    const [res] = await once(req, 'response')
    assert.equal(res.statusCode, 200)
    res.resume()
  })

  it('survives clients that leave, or send a second request, while a guard waits', async (t) => {
    let entered = 0
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const app = await socketApp(t, {}, ({ socket, middleware }) => {
      middleware({
        key: 'slow',
        handler: async (_ctx, next) => {
          entered++
          await gate
          return next()
        },
      })
      socket({ ...echo, use: ['slow'] })
    })
    const { hostname, port } = new URL(app.url)
    const left = Array.from({ length: 10 }, () => connectTcp(Number(port), hostname))
    for (const socket of left) {
      socket.on('error', () => undefined)
      socket.write(handshake('/echo'))
    }
    await eventually('all wait', async () => entered === 10)
    for (const socket of left) socket.resetAndDestroy()
    const pipelined = exchange(app.url, `${handshake('/echo', { Upgrade: undefined, Connection: 'keep-alive' })}${handshake('/echo')}`)
    await eventually('the plain request waits, too', async () => entered === 11)
    open()
    assert.doesNotMatch(await pipelined, /HTTP\/1\.1 101/)
    const client = await app.open('/echo')
    client.send({ still: 'here' })
    assert.deepEqual(await client.next(), { still: 'here' })
  })

  it('passes through global middleware, the access log and onRequestEnd', async (t) => {
    const seen: string[] = []
    const app = await socketApp(
      t,
      {},
      ({ socket, use }) => {
        use(async (ctx, next) => {
          seen.push(ctx.path)
          await next()
        })
        socket(echo)
      },
      { env: { LOG_REQUESTS: 'true' } },
    )
    await app.open('/echo')
    await refusal(app.open('/echo', { headers: { origin: 'https://evil.example' } }))
    assert.deepEqual(seen, ['/echo', '/echo'])
    await eventually('both are logged', async () => app.host.logs.filter(({ path }) => path === '/echo').length === 2)
    const lines = app.host.logs.filter(({ path }) => path === '/echo')
    assert.deepEqual(
      lines.map(({ status, complete }) => [status, complete]),
      [
        [101, true],
        [403, true],
      ],
    )
    const ended = app.host.recorded('onRequestEnd').map(([ended]) => (ended as { status: number }).status)
    assert.deepEqual(ended.length === 0 || ended.includes(101), true)
  })

  it('is listed with its messages in OpenAPI, /docs and the routes', async (t) => {
    const app = await socketApp(
      t,
      {},
      ({ socket }) =>
        socket({ ...echo, use: ['auth'], message: Type.Object({ text: Type.String() }), sends: Type.Object({ heard: Type.String() }) }),
      { plugins: [jwt()] },
    )
    const { paths } = (await (await fetch(`${app.url}/openapi.json`)).json()) as { paths: Record<string, { get: Record<string, unknown> }> }
    const { get } = paths['/echo'] as { get: Record<string, unknown> }
    assert.deepEqual(Object.keys(get.responses as object), ['101', 'default'])
    assert.deepEqual(get.security, [{ bearer: [] }])
    const { message, sends, protocols, closeCodes } = get['x-websocket'] as Record<string, { properties?: object }>
    assert.deepEqual(
      [Object.keys(message?.properties ?? {}), Object.keys(sends?.properties ?? {}), protocols],
      [['text'], ['heard'], ['zin']],
    )
    assert.ok('1001' in (closeCodes as object))
    assert.equal(app.host.host.view.routes().find(({ path }) => path === '/echo')?.upgrade, 'websocket')
    assert.match(await (await fetch(`${app.url}/docs`)).text(), /\/echo/)
  })
})

describe('a plugin that declares a socket', () => {
  const boot = (setup: Parameters<typeof socketApp>[2], dependencies: string[] = ['websocket']) =>
    createTestHost({ plugins: [websocket(), definePlugin({ name: 'chat', version: '1.0.0', dependencies, setup })()] })

  it('is told at boot what is wrong with it', async () => {
    const handler = (): void => undefined
    const cases: [object, RegExp][] = [
      [{ handler }, /needs a path/],
      [{ path: '/a' }, /needs a handler/],
      [{ path: '/a', onClose: handler }, /needs a handler.* or, if it only sends, an onOpen/],
      [{ path: '/a', onOpen: handler, message: Type.Object({}) }, /needs a handler: .* because it has a schema of messages/],
      [{ path: '/a', handler: 1 }, /"handler" that is not a function/],
      [{ path: '/a', handler, mesage: {} }, /unknown field "mesage"/],
      [{ path: '/a', handler, onOpen: 1 }, /"onOpen" that is not a function/],
      [{ path: '/a', handler, maxMessageBytes: 0 }, /"maxMessageBytes"/],
      [{ path: '/a', handler, protocols: ['bearer.x'] }, /"protocols"/],
      [{ path: '/a', handler, origins: ['shop.example.com'] }, /origin "shop.example.com"/],
      [{ path: '/a', handler, use: ['nobody'] }, /no plugin registered the middleware key "nobody"/],
      [{ path: '/a', handler, message: { type: 'strin' } }, /its message schema is invalid/],
      [{ path: 'a', handler }, /must begin with "\/"/],
    ]
    for (const [spec, expected] of cases)
      await assert.rejects(
        boot((ctx) => ctx.socket(spec as never)),
        expected,
      )
    await assert.rejects(createTestHost({ plugins: [websocket({ origins: ['x'] })] }), /origin "x"/)
    await assert.rejects(
      boot((ctx) => {
        ctx.route({ method: 'GET', path: '/a', summary: 'x', handler: () => 1 })
        ctx.socket({ path: '/a', handler: () => 1 })
      }),
      /already registered GET \/a/,
    )
  })

  it('needs the plugin websocket first, and keeps it from being disabled', async () => {
    const chat = definePlugin({ name: 'chat', version: '1.0.0', setup: (ctx) => ctx.socket(echo) })
    await assert.rejects(createTestHost({ plugins: [chat(), websocket()] }), /ctx\.socket comes from the plugin "websocket".*dependencies/)
    const host = await createTestHost({ plugins: [websocket(), chat()] })
    await assert.rejects(host.disable('websocket'), /other plugins use its methods: chat/)
    await host.disable('chat')
    await host.disable('websocket')
    await host.stop()
  })
})

describePlugin(() => [], websocket, { readme: new URL('./README.md', import.meta.url) })
