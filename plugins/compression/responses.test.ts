import assert from 'node:assert/strict'
import { type EventEmitter, once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { brotliDecompressSync, createGunzip, gunzipSync, inflateSync } from 'node:zlib'
import { definePlugin, defineRoute, EventStreams, type Route, Type } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt } from 'zin/plugins/jwt'
import { login } from 'zin/plugins/login'
import { createTestHost, type TestHost } from 'zin/testing'
import { compression } from './index.js'

const long = 'a long text '.repeat(400)
const list = Array.from({ length: 400 }, (_, n) => ({ n, text: 'the same' }))
const cyclic: unknown[] = []
cyclic.push(cyclic)
const opened = { stream: new Readable({ read: () => undefined }) }

const text = (path: string, headers: Readonly<Record<string, string>>, more: Partial<Route> = {}): Route =>
  defineRoute({
    method: 'GET',
    path,
    summary: 'x',
    ...more,
    handler: (ctx) => {
      ctx.set(headers)
      return long
    },
  })

const routes: readonly Route[] = [
  defineRoute({ method: 'GET', path: '/json', summary: 'x', handler: () => list }),
  defineRoute({ method: 'GET', path: '/small', summary: 'x', handler: () => ({ ok: true }) }),
  defineRoute({
    method: 'GET',
    path: '/exact/:bytes',
    summary: 'x',
    params: Type.Object({ bytes: Type.Integer() }),
    handler: ({ input }) => ['x'.repeat(input.params.bytes - 4)],
  }),
  defineRoute({
    method: 'GET',
    path: '/filtered',
    summary: 'x',
    serialize: 'schema',
    response: { 200: Type.Array(Type.Object({ n: Type.Integer() })) },
    handler: () => list as never,
  }),
  defineRoute({
    method: 'GET',
    path: '/problem',
    summary: 'x',
    handler: (ctx) => {
      ctx.status = 409
      ctx.set('Content-Type', 'application/problem+json')
      return { title: long }
    },
  }),
  defineRoute({ method: 'GET', path: '/cyclic', summary: 'x', handler: () => cyclic }),
  defineRoute({
    method: 'GET',
    path: '/bytes',
    summary: 'x',
    handler: (ctx) => {
      ctx.type = 'text/csv'
      return Buffer.from(long)
    },
  }),
  text('/text', {}),
  text('/etag', { ETag: '"1"', 'Accept-Ranges': 'bytes' }),
  text('/weak-etag', { ETag: 'W/"1"' }),
  text('/cookie', { 'Set-Cookie': 'session=secret' }),
  text('/forced-cookie', { 'Set-Cookie': 'session=secret' }, { compress: true }),
  text('/no-store', { 'Cache-Control': 'private, no-store' }),
  text('/forced', { 'Cache-Control': 'no-store' }, { compress: true }),
  text('/opted-out', {}, { compress: false }),
  text('/no-transform', { 'Cache-Control': 'no-transform' }),
  text('/encoded', { 'Content-Encoding': 'x-own' }),
  text('/digested', { 'Content-Digest': 'sha-256=:AAAA:' }),
  text('/image', { 'Content-Type': 'image/png' }),
  text('/events-by-hand', { 'Content-Type': 'text/event-stream' }),
  defineRoute({
    method: 'GET',
    path: '/part',
    summary: 'x',
    handler: (ctx) => {
      ctx.status = 206
      return long
    },
  }),
  ...(
    [
      ['/stream', () => Readable.from([long, long])],
      [
        '/iterated',
        async function* () {
          yield long
          yield long
        },
      ],
      ['/web-stream', () => Readable.toWeb(Readable.from([long, long]))],
    ] as const
  ).map(([path, body]) =>
    defineRoute({
      method: 'GET',
      path,
      summary: 'x',
      handler: (ctx) => {
        ctx.type = 'text/plain'
        return body()
      },
    }),
  ),
  defineRoute({
    method: 'GET',
    path: '/slow',
    summary: 'x',
    handler: (ctx) => {
      ctx.type = 'application/json'
      opened.stream = new Readable({ read: () => undefined })
      opened.stream.push('{"row":1}\n')
      return opened.stream
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/broken',
    summary: 'x',
    handler: (ctx) => {
      ctx.type = 'text/plain'
      return new Readable({ read: () => undefined }).destroy(new Error('the disk is gone'))
    },
  }),
]

const events = definePlugin({
  name: 'events',
  version: '1.0.0',
  setup(ctx) {
    const streams = new EventStreams()
    ctx.route({
      method: 'GET',
      path: '/events',
      summary: 'x',
      handler: (request) => {
        const stream = streams.open(request, () => undefined)
        stream.send({ data: long })
        stream.close()
      },
    })
  },
})

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly bytes: Buffer
  readonly text: string
}

/** An event, which must not take long. */
const soon = (emitter: EventEmitter, event: string) => once(emitter, event, { signal: AbortSignal.timeout(10_000) })

const decoded = (coding: string | undefined, bytes: Buffer): string => {
  if (coding === 'gzip') return gunzipSync(bytes).toString()
  if (coding === 'br') return brotliDecompressSync(bytes).toString()
  return coding === 'deflate' ? inflateSync(bytes).toString() : bytes.toString()
}

describe('responses with the plugin compression', () => {
  let host: TestHost
  before(async () => {
    host = await createTestHost({
      listen: true,
      plugins: [
        compression(),
        events(),
        jwt(),
        bulletproof(),
        login({ verifyCredentials: async () => ({ id: '7', email: `${'long'.repeat(400)}@example.com` }) }),
      ],
      routes: [...routes],
      env: { APP_KEY: 'app-key-canary-0123456789abcdefghijk' },
    })
  })
  after(() => host.stop())

  /** fetch would decode the body. */
  async function get(path: string, accept: string | undefined, method = 'GET'): Promise<Answer> {
    const { headers, statusCode = 0, ...rest } = await open(path, accept, method)
    const bytes = Buffer.concat(await rest.body.toArray())
    return { status: statusCode, headers, bytes, text: decoded(headers['content-encoding'], bytes) }
  }

  async function open(path: string, accept: string | undefined, method = 'GET') {
    const request = httpGet(host.url + path, { method, headers: accept === undefined ? {} : { 'accept-encoding': accept } })
    const [body] = (await soon(request, 'response')) as [IncomingMessage]
    return { body, request, headers: body.headers, statusCode: body.statusCode }
  }

  const accepts: readonly (readonly [accept: string | undefined, coding: string | undefined])[] = [
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['deflate', 'deflate'],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['gzip;q=0', undefined],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['identity;q=1, *;q=0', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['zstd', undefined],
    ['identity', undefined],
    ['identity;q=0, *;q=0', undefined],
    ['', undefined],
    [undefined, undefined],
    ['gzip;q=nonsense, ,,;', undefined],
  ]
  for (const [accept, coding] of accepts) {
    it(`use ${coding ?? 'no coding'} for Accept-Encoding: ${accept ?? 'absent'}`, async () => {
      const { status, headers, text: sent } = await get('/json', accept)
      assert.equal(status, 200)
      assert.equal(headers['content-encoding'], coding)
      assert.equal(headers['content-type'], 'application/json; charset=utf-8')
      assert.equal(headers.vary, 'Accept-Encoding')
      assert.deepEqual(JSON.parse(sent), list)
    })
  }

  for (const path of ['/text', '/bytes', '/stream', '/iterated', '/web-stream', '/filtered', '/problem', '/forced']) {
    it(`contain with gzip what they contain without: ${path}`, async () => {
      const plain = await get(path, 'identity')
      const coded = await get(path, 'gzip')
      assert.equal(coded.headers['content-encoding'], 'gzip')
      assert.equal(coded.headers['content-length'], undefined)
      assert.ok(coded.bytes.length < plain.bytes.length / 3)
      assert.equal(coded.text, plain.text)
      assert.equal(coded.status, plain.status)
      assert.equal(coded.headers['content-type'], plain.headers['content-type'])
      for (const { headers } of [plain, coded]) assert.equal(headers.vary, 'Accept-Encoding')
    })
  }

  it('leave out what the schema of a route leaves out', async () => {
    assert.deepEqual(JSON.parse((await get('/filtered', 'br')).text)[0], { n: 0 })
  })

  for (const path of [
    '/small',
    '/cookie',
    '/forced-cookie',
    '/no-store',
    '/opted-out',
    '/no-transform',
    '/digested',
    '/image',
    '/events-by-hand',
    '/events',
    '/part',
    '/unknown',
    '/openapi.json?x',
  ]) {
    it(`are left as they are: ${path}`, async () => {
      const { headers, bytes } = await get(path, 'br, gzip', 'GET')
      if (path.startsWith('/openapi')) assert.equal(headers['content-encoding'], 'br')
      else {
        assert.equal(headers['content-encoding'], undefined)
        assert.equal(bytes.length, (await get(path, undefined)).bytes.length)
      }
    })
  }

  it('keep the coding that a handler has set', async () => {
    const { headers, text: sent } = await get('/encoded', 'gzip')
    assert.equal(headers['content-encoding'], 'x-own')
    assert.equal(sent, long)
  })

  it('are not compressed if they contain a token', async () => {
    const response = await fetch(`${host.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
      body: JSON.stringify({ email: 'ann@example.com', password: 'a long password' }),
    })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-encoding'), null)
    assert.ok((await response.text()).length > 1024)
  })

  it('are compressed from 1024 bytes on', async () => {
    assert.equal((await get('/exact/1023', 'gzip')).headers['content-encoding'], undefined)
    assert.equal((await get('/exact/1024', 'gzip')).headers['content-encoding'], 'gzip')
  })

  it('have a length if they are small', async () => {
    const { headers } = await get('/small', 'gzip')
    assert.equal(headers['content-length'], '11')
    assert.equal(headers.vary, undefined)
  })

  it('have a head without a body for HEAD', async () => {
    const { status, bytes, headers } = await get('/json', 'gzip', 'HEAD')
    assert.deepEqual([status, bytes.length, headers['content-encoding']], [200, 0, undefined])
    // As for GET (fiber 3745).
    assert.equal(headers.vary, (await get('/json', 'gzip')).headers.vary)
  })

  it('have a weak ETag, and no ranges', async () => {
    const { headers } = await get('/etag', 'gzip')
    assert.deepEqual([headers.etag, headers['accept-ranges']], ['W/"1"', undefined])
    assert.equal((await get('/weak-etag', 'gzip')).headers.etag, 'W/"1"')
    const plain = await get('/etag', 'identity')
    assert.deepEqual([plain.headers.etag, plain.headers['accept-ranges']], ['"1"', 'bytes'])
  })

  it('reach the client piece by piece if they are streams', async () => {
    const { body } = await open('/slow', 'gzip')
    const rows = body.pipe(createGunzip()).setEncoding('utf8')
    for (const row of ['{"row":1}\n', '{"row":2}\n']) {
      if (row.includes('2')) opened.stream.push(row)
      const [piece] = await soon(rows, 'data')
      assert.equal(piece, row)
    }
    opened.stream.push(null)
    await soon(rows, 'end')
  })

  it('end their source when the client leaves', async () => {
    const { body, request } = await open('/slow', 'gzip')
    const closed = soon(opened.stream, 'close')
    await soon(body, 'data')
    request.destroy()
    body.on('error', () => undefined)
    await closed
    assert.ok(opened.stream.destroyed)
  })

  it('are an error without a coding if their stream fails at once, or cannot be serialized', async () => {
    for (const path of ['/broken', '/cyclic']) {
      const { status, headers, text: sent } = await get(path, 'gzip')
      assert.equal(status, 500)
      assert.equal(headers['content-encoding'], undefined)
      assert.equal(JSON.parse(sent).code, 'INTERNAL_ERROR')
    }
  })

  it('are cut if their stream fails later', async () => {
    const { body } = await open('/slow', 'gzip')
    await soon(body, 'data')
    const ended = soon(body, 'aborted')
    body.on('error', () => undefined)
    opened.stream.destroy(new Error('the disk is gone'))
    await ended
    assert.equal(body.complete, false)
  })
})

describe('the options of compression', () => {
  it('choose the codings and their order', async () => {
    const host = await createTestHost({ plugins: [compression({ encodings: ['deflate', 'gzip'], minBytes: 0 })], routes: [...routes] })
    try {
      const coding = async (accept: string) =>
        (await host.inject({ path: '/small', headers: { 'accept-encoding': accept } })).headers['content-encoding']
      assert.equal(await coding('gzip, deflate, br'), 'deflate')
      assert.equal(await coding('br'), undefined)
      assert.equal(await coding('gzip'), 'gzip')
    } finally {
      await host.stop()
    }
  })

  it('are checked, and so is the field of a route', async () => {
    await assert.rejects(createTestHost({ plugins: [compression({ encodings: [] })] }), /encodings/)
    await assert.rejects(createTestHost({ plugins: [compression({ encodings: ['zstd' as never] })] }), /encodings/)
    const route: Route = { method: 'GET', path: '/x', summary: 'x', compress: 'never' as never, handler: () => 1 }
    await assert.rejects(createTestHost({ plugins: [compression()], routes: [route] }), /GET \/x .*its "compress" must be true or false/)
  })
})
