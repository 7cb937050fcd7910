import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { captureBody, definePlugin, defineRoute, type Route, Type } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt } from 'zin/plugins/jwt'
import { login } from 'zin/plugins/login'
import { createHeaders } from 'zin/signer'
import { createTestHost, type TestHost } from 'zin/testing'
import { compression } from './index.js'

const limit = 2000
const route = (path: string, more: Partial<Route>): Route =>
  defineRoute({ method: 'POST', path, summary: 'x', bodyLimit: limit, handler: ({ input }) => ({ got: input.body }), ...more })

const routes: readonly Route[] = [
  route('/json', { body: Type.Object({ name: Type.String() }) }),
  route('/form', { bodyType: 'form' }),
  route('/raw', {
    bodyType: 'raw',
    handler: async (ctx) => ({ got: (ctx.input.body as Buffer).toString(), received: (await captureBody(ctx)).length }),
  }),
  route('/unread', { handler: () => ({ ok: true }) }),
  route('/closed', { use: ['closed'], body: Type.Object({}) }),
  route('/signed', { use: ['auth', 'bulletproof'], body: Type.Object({ name: Type.String() }) }),
]

const guards = definePlugin({
  name: 'guards',
  version: '1.0.0',
  setup(ctx) {
    ctx.middleware({ key: 'closed', handler: (request) => request.throw(403, 'closed') })
  },
})

describe('requests with the plugin compression', () => {
  let host: TestHost
  before(async () => {
    host = await createTestHost({
      listen: true,
      plugins: [compression(), guards(), jwt(), bulletproof(), login({ verifyCredentials: async (email) => ({ id: '7', email }) })],
      routes: [...routes],
      env: { APP_KEY: 'app-key-canary-0123456789abcdefghijk' },
    })
  })
  after(() => host.stop())

  const post = async (
    path: string,
    body: Buffer,
    coding: string,
    type = 'application/json',
    more: Readonly<Record<string, string>> = {},
  ) => {
    const headers = { 'content-type': type, 'content-encoding': coding, ...more }
    const response = await fetch(host.url + path, { method: 'POST', headers, body: new Uint8Array(body) })
    return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> }
  }

  const codings: readonly (readonly [coding: string, compress: (text: string | Buffer) => Buffer])[] = [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZIP', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
  ]
  for (const [coding, compress] of codings) {
    describe(`that are compressed as ${coding} by ${compress.name}`, () => {
      it('are read as JSON, forms and bytes; captureBody has what was sent', async () => {
        assert.deepEqual((await post('/json', compress('{"name":"ann"}'), coding)).body, { got: { name: 'ann' } })
        const form = await post('/form', compress('name=ann'), coding, 'application/x-www-form-urlencoded')
        assert.deepEqual(form.body, { got: { name: 'ann' } })
        const bytes = compress('x'.repeat(100))
        assert.deepEqual((await post('/raw', bytes, coding, 'a/b')).body, { got: 'x'.repeat(100), received: bytes.length })
      })

      it('may contain as many bytes as the route accepts, and not one more', async () => {
        assert.equal((await post('/raw', compress('x'.repeat(limit)), coding, 'a/b')).status, 200)
        const larger = await post('/raw', compress('x'.repeat(limit + 1)), coding, 'a/b')
        assert.deepEqual([larger.status, larger.body.code], [413, 'PAYLOAD_TOO_LARGE'])
      })

      it('are refused as 413 before a bomb is unpacked', async () => {
        const before = process.memoryUsage().rss
        const bomb = compress(Buffer.alloc(10_000_000))
        const sent = bomb.length > limit ? bomb.subarray(0, limit) : bomb
        const answers = await Promise.all(Array.from({ length: 20 }, () => post('/raw', sent, coding, 'a/b')))
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([413]))
        assert.ok(process.memoryUsage().rss - before < 300_000_000)
      })

      it('are refused as 400 if they are damaged or cut off', async () => {
        const good = compress(JSON.stringify({ name: 'ann'.repeat(100) }))
        for (const bad of [good.subarray(0, good.length - 4), Buffer.from('{"name":"ann"}'), Buffer.from([0x1f, 0x8b, 8, 0])]) {
          const { status, body } = await post('/json', bad, coding)
          assert.deepEqual([status, body.code], [400, 'BODY_NOT_DECODABLE'])
        }
      })
    })
  }

  it('are refused as 415 in other codings, with a list of the accepted ones', async () => {
    for (const coding of ['zstd', 'compress', 'gzip, gzip', 'gzip, br', 'identity, gzip']) {
      const { status, body, headers } = await post('/json', gzipSync('{"name":"ann"}'), coding)
      assert.deepEqual([status, body.code], [415, 'UNSUPPORTED_CONTENT_ENCODING'], coding)
      assert.equal(headers.get('accept-encoding'), 'br, gzip, x-gzip, deflate, identity')
    }
  })

  it('are refused as before for their type, and by schema', async () => {
    assert.equal((await post('/json', gzipSync('a,b'), 'gzip', 'text/csv')).status, 415)
    const { status, body } = await post('/json', gzipSync('{}'), 'gzip')
    assert.deepEqual([status, body.code], [400, 'VALIDATION_FAILED'])
    assert.equal((await post('/json', gzipSync('{'), 'gzip')).body.code, 'INVALID_JSON')
    assert.equal((await post('/json', gzipSync(Buffer.from([0xff])), 'gzip')).body.code, 'INVALID_JSON')
  })

  it('are not read where a guard refuses them, or a route does not use them', async () => {
    assert.equal((await post('/closed', Buffer.from('not gzip'), 'gzip')).status, 403)
    assert.equal((await post('/unread', Buffer.from('not gzip'), 'gzip')).status, 200)
  })

  it('are refused if they are signed, because a signature covers what the route reads', async () => {
    const answer = await fetch(`${host.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ann@example.com', password: 'a long password' }),
    })
    const { jwt: token, deviceId, deviceSecret } = (await answer.json()) as Record<'jwt' | 'deviceId' | 'deviceSecret', string>
    const sent = gzipSync('{"name":"ann"}')
    const signed = await createHeaders({
      method: 'POST',
      url: '/signed',
      body: new Uint8Array(sent),
      keyId: deviceId,
      secret: deviceSecret,
    })
    const { status } = await post('/signed', sent, 'gzip', 'application/json', { ...signed, authorization: `Bearer ${token}` })
    assert.equal(status, 401)
  })
})

it('without requestBodies, every coding is refused', async () => {
  const host = await createTestHost({ plugins: [compression({ requestBodies: false })], routes: routes.slice(0, 1) })
  try {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const { status, headers: sent } = await host.inject({ method: 'POST', path: '/json', headers, body: gzipSync('{"name":"ann"}') })
    assert.deepEqual([status, sent['accept-encoding']], [415, 'identity'])
  } finally {
    await host.stop()
  }
})
