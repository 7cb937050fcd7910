import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ZinError } from '../errors.js'
import type { Route } from './route.js'
import { exchange, listen, makeApp, RawClient, rawRequest, route } from './test-support.js'
import type { UpgradeConnection } from './upgrade.js'

const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n'
const asks = ['Connection: Upgrade', 'Upgrade: lines']
const request = (path: string, headers: readonly string[] = asks): string =>
  ['GET ', path, ' HTTP/1.1\r\nHost: x\r\n', ...headers.map((line) => `${line}\r\n`), '\r\n'].join('')

const lines = (path: string, accept: (connection: UpgradeConnection) => void | Promise<void>, more: Partial<Route> = {}): Route =>
  route({
    method: 'GET',
    path,
    upgrade: {
      protocol: 'lines',
      message: { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } },
      accept: (_ctx, connection) => accept(connection),
    },
    handler: () => ({ plain: true }),
    ...more,
  })

const take = ({ socket, head: sent, taken }: UpgradeConnection): void => {
  socket.write(head)
  taken()
  socket.end(`got ${sent.toString()}`)
}

test('a route takes over the connection of a request that asks for its protocol, with what was sent after it', async (t) => {
  const { app } = makeApp(t, [lines('/lines', take)])
  const port = await listen(app)
  assert.match(await exchange(port, `${request('/lines')}hello`), /^HTTP\/1\.1 101 .*got hello$/s)
  for (const headers of [['Connection: close'], ['Connection: Upgrade, close', 'Upgrade: h2c']])
    assert.match(await exchange(port, request('/lines', headers)), /^HTTP\/1\.1 200 .*"plain":true/s)
  assert.match(await exchange(port, request('/other', ['Connection: Upgrade, close', 'Upgrade: lines'])), /^HTTP\/1\.1 404 /)
})

test('what an accept throws, before it takes the connection, is a response, and the connection is closed', async (t) => {
  const { app, log } = makeApp(t, [
    lines('/refused', () => {
      throw new ZinError('FULL', 'Full', { status: 503, headers: { 'Retry-After': '7' } })
    }),
    lines('/late', async () => {
      throw new Error('no')
    }),
    lines('/neither', () => undefined),
    lines('/read', ({ read }) => {
      throw new ZinError('READ', JSON.stringify([read(Buffer.from('{"a":1}')), read(Buffer.from('{"a":"x"}'))]), { status: 400 })
    }),
    lines('/text', ({ read }) => void read(Buffer.from('{'))),
  ])
  const port = await listen(app)
  assert.match(await exchange(port, request('/refused')), /^HTTP\/1\.1 503 .*Retry-After: 7.*Connection: close.*"code":"FULL"/s)
  assert.match(await exchange(port, request('/late')), /^HTTP\/1\.1 500 .*INTERNAL_ERROR/s)
  assert.match(await exchange(port, request('/neither')), /^HTTP\/1\.1 500 .*UPGRADE_NOT_TAKEN/s)
  assert.match(await exchange(port, request('/text')), /^HTTP\/1\.1 400 .*INVALID_JSON/s)
  const read = await exchange(port, request('/read'))
  assert.match(read, /\\"value\\":\{\\"a\\":1\},\\"problems\\":\[\]/)
  assert.match(read, /\\"path\\":\\"a\\",\\"keyword\\":\\"type\\"/)
  assert.equal(log.lines.filter(({ msg }) => msg === 'request failed').length, 3)
})

test('a draining app cuts the connections that are left', async (t) => {
  const { app } = makeApp(t, [
    lines('/lines', ({ socket, taken }) => {
      socket.write(head)
      taken()
    }),
  ])
  const client = await RawClient.open(await listen(app))
  client.send(request('/lines'))
  await client.until(/\r\n\r\n/)
  assert.deepEqual(await app.drain({ deadlineMs: 50 }), { forced: 1 })
  await client.closed
})

test('an app without upgrades serves requests that ask for one as others', async (t) => {
  const { app } = makeApp(t, [route({ method: 'POST', path: '/a', body: { type: 'object' }, handler: ({ input }) => input.body })])
  const body = rawRequest('POST /a', ['Upgrade: websocket', 'Content-Type: application/json', 'Content-Length: 7'], '{"a":1}')
  assert.match(await exchange(await listen(app), body.replace('Connection: close', 'Connection: upgrade, close')), /\{"a":1\}$/)
})

test('only a GET route that is no probe can take over connections', (t) => {
  const { app } = makeApp(t)
  app.addRoute('test', lines('/lines', take, { method: 'POST' }))
  assert.throws(() => app.compile(), /only a GET route that is not a probe can take over connections/)
})
