import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type Kysely, sql } from 'kysely'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { database, databaseService } from 'zin/plugins/database'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv, kvService } from 'zin/plugins/kv'
import { createHeaders } from 'zin/signer'
import { createTestHost, fakeClock, type TestHost } from 'zin/testing'
import { nonceKey } from './store/nonces/contract.js'
import { appKey, countsOf, sharedSecret, type TestApp, type TestAppOptions, withApp } from './testing/app.js'
import { exchange, requestHead } from './testing/socket.js'

const backends: readonly (TestAppOptions & { readonly name: string; readonly copies: number })[] = [
  { name: 'memory', copies: 1_000 },
  // Few enough for a busy machine: a request that waits longer than 5 s for its store gets a 503.
  { name: 'kv on SQLite', copies: 200, plugins: [database(), kv()], options: { nonceStore: 'kv', deviceStore: 'kv' } },
  { name: 'tables on SQLite', copies: 200, plugins: [database()], options: { nonceStore: 'db', deviceStore: 'db' } },
]

for (const { name, copies, ...backend } of backends) {
  describe(`replay, with ${name}`, () => {
    it(`S6: of ${copies} concurrent copies is refused for all but one`, () =>
      withApp(backend, async (app) => {
        const headers = await app.headersOf()
        const responses = await Promise.all(Array.from({ length: copies }, () => app.host.inject({ path: '/api/me', headers })))
        assert.deepEqual(countsOf(responses), { 200: 1, 401: copies - 1 })
      }))

    it('S5: is refused for as long as the timestamp is valid, also when it was dated ahead', () =>
      withApp(backend, async (app) => {
        const headers = await app.headersOf({ skew: 59_000 })
        const replay = async (): Promise<number> => (await app.host.inject({ path: '/api/me', headers })).status
        assert.equal(await replay(), 200)
        for (const ms of [1, 60_999, 57_999, 1_000, 60_000]) {
          app.clock.advance(ms)
          assert.equal(await replay(), 401)
        }
      }))

    it('S4: is refused under another key id, because the secret is the same', () =>
      withApp(backend, async (app) => {
        const token = await app.tokenWith({ deviceId: undefined })
        const headers = await app.headersOf({ keyId: 'caller-1', secret: sharedSecret, token })
        const renamed = { ...headers, 'x-sig-key-id': 'caller-2', 'x-sig-device-id': 'caller-2' }
        assert.equal((await app.host.inject({ path: '/api/me', headers })).status, 200)
        assert.equal((await app.host.inject({ path: '/api/me', headers: renamed })).status, 401)
      }))

    it('S6: of a request that does not verify uses up no nonce', () =>
      withApp(backend, async (app) => {
        const nonce = 'one-nonce-for-all-of-them'
        const wrong = [{ secret: 'wrong' }, { headers: { 'x-sig-device-id': 'dev_x' } }, { skew: 90_000 }]
        for (const sending of wrong) assert.equal((await app.send({ ...sending, nonce })).status, 401)
        const swapped = await app.headersOf({ method: 'POST', path: '/api/notes', body: '{"a":1}', nonce })
        assert.equal(
          (await app.host.inject({ method: 'POST', path: '/api/notes', headers: { ...swapped, 'content-length': '7' }, body: '{"a":2}' }))
            .status,
          401,
        )
        assert.equal((await app.send({ nonce })).status, 200)
      }))

    it('S16: is refused after the device is removed, like every other request of it', () =>
      withApp(backend, async (app) => {
        assert.equal((await app.send()).status, 200)
        assert.equal(await app.service(devicesService).remove(app.deviceId), true)
        assert.equal((await app.send()).status, 401)
        assert.equal((await app.send({ secret: sharedSecret })).status, 401)
      }))
  })
}

async function bootWith(clock: ReturnType<typeof fakeClock>): Promise<TestHost> {
  return createTestHost({
    clock,
    env: { APP_KEY: appKey, BULLETPROOF_SIGNING_SECRET: sharedSecret },
    plugins: [jwt(), bulletproof()],
    routes: [{ method: 'GET', path: '/api/me', summary: 'Me', use: ['auth', 'bulletproof'], handler: () => ({}) }],
  })
}

describe('replay after the store lost its nonces', () => {
  it('S7: is refused after a restart of the process', async () => {
    const clock = fakeClock()
    const first = await bootWith(clock)
    clock.advance(1_000)
    const { token } = await first.service(tokensService).issue({ sub: '7' })
    const request = async () => ({
      path: '/api/me',
      headers: {
        ...(await createHeaders({ method: 'GET', url: '/api/me', keyId: 'caller', secret: sharedSecret, timestamp: clock.now() })),
        authorization: `Bearer ${token}`,
      },
    })
    const captured = await request()
    assert.equal((await first.inject(captured)).status, 200)
    await first.stop()
    const second = await bootWith(clock)
    try {
      assert.equal((await second.inject(captured)).status, 401)
      clock.advance(1)
      assert.equal((await second.inject(await request())).status, 200)
    } finally {
      await second.stop()
    }
  })

  it('S7: is refused after a flush of the kv store', () =>
    withApp({ plugins: [database(), kv()] }, async (app) => {
      const nonce = 'forgotten-nonce-0123'
      const headers = await app.headersOf({ nonce })
      const replay = async (): Promise<number> => (await app.host.inject({ path: '/api/me', headers })).status
      assert.equal(await replay(), 200)
      await emptyKv(app, nonce)
      assert.equal(await replay(), 401)
      app.clock.advance(1_001)
      assert.equal((await app.send()).status, 200)
    }))
})

/** Deletes the keys that matter here, as a flush does. */
async function emptyKv(app: TestApp, nonce: string): Promise<void> {
  const store = app.service(kvService)
  for (const key of ['bulletproof:nonces-since', `bulletproof:nonce:${nonceKey(`device:${app.deviceId}`, nonce)}`])
    assert.equal(await store.delete(key), true)
}

describe('a store that is down', () => {
  const failures: readonly (readonly [what: string, fail: (tables: Kysely<unknown>) => Promise<unknown>])[] = [
    ['reading', (tables) => tables.schema.dropTable('zin_kv').execute()],
    [
      'writing',
      (tables) => sql`create trigger full before insert on zin_kv begin select raise(abort, 'the disk is full'); end`.execute(tables),
    ],
  ]
  for (const [what, fail] of failures) {
    it(`(${what} of the kv) causes a 503, never 200 or 401`, () =>
      withApp({ plugins: [database(), kv()], options: { deviceStore: 'memory' } }, async (app) => {
        assert.equal((await app.send()).status, 200)
        await fail(app.service(databaseService).tables())
        const { status, body, headers } = await app.send()
        assert.deepEqual([status, body.code], [503, 'AUTH_STORE_UNAVAILABLE'])
        assert.ok(Number(headers['retry-after']) > 0)
      }))
  }
})

describe('over a raw socket', () => {
  const listening = { listen: true, env: { HOST: '127.0.0.1' } }

  it('S8: a signed header that is sent twice is refused, and so are two tokens, hosts or content types', () =>
    withApp(listening, async (app) => {
      const good = Object.entries(await app.headersOf())
      for (const name of [
        'x-sig-key-id',
        'X-SIG-NONCE',
        'x-sig-timestamp',
        'x-sig-signature',
        'x-sig-body-sha256',
        'x-sig-device-id',
        'user-agent',
        'authorization',
        'content-type',
        'host',
      ]) {
        const value = good.find(([other]) => other === name.toLowerCase())?.[1] ?? 'text/plain'
        const twice = [...good, [name, value] as const, ...(['user-agent', 'content-type'].includes(name) ? [[name, value] as const] : [])]
        const response = await exchange(app.host.url, requestHead(app.host.url, 'GET /api/me HTTP/1.1', twice))
        assert.match(response, /^HTTP\/1\.1 40[01] /, name)
      }
      assert.match(await exchange(app.host.url, requestHead(app.host.url, 'GET /api/me HTTP/1.1', good)), /^HTTP\/1\.1 200 /)
    }))

  it('S10: a request with a wrong signature is refused before any of its body is requested or read', () =>
    withApp(listening, async (app) => {
      const path = '/api/notes'
      const make = async (secret: string): Promise<(readonly [string, string])[]> => [
        ...Object.entries(await app.headersOf({ method: 'POST', path, body: '{"a":1}', secret })),
        ['content-length', '7'],
      ]
      const head = async (secret: string, more: readonly (readonly [string, string])[] = []) =>
        requestHead(app.host.url, `POST ${path} HTTP/1.1`, [...(await make(secret)), ...more])
      // The body is never sent: a response shows that the app does not wait for it.
      assert.match(await exchange(app.host.url, await head('wrong')), /^HTTP\/1\.1 401 /)
      assert.match(await exchange(app.host.url, await head('wrong', [['expect', '100-continue']])), /^HTTP\/1\.1 401 /)
      assert.match(await exchange(app.host.url, await head(app.secret, [['expect', '100-continue']]), /\r\n\r\n/), /^HTTP\/1\.1 100 /)
      assert.match(await exchange(app.host.url, `${await head(app.secret)}{"a":1}`), /^HTTP\/1\.1 200 /)
    }))

  it('S10: the body is hashed as received: in chunks, with a byte order mark, compressed or not UTF-8', () =>
    withApp(
      {
        ...listening,
        routes: [
          {
            method: 'POST',
            path: '/raw',
            summary: 'Raw',
            use: ['bulletproof'],
            bodyType: 'raw',
            handler: (ctx) => ({ length: ctx.input.body.length }),
          },
        ],
      },
      async (app) => {
        const send = async (signed: Buffer, sent: Buffer, more: readonly (readonly [string, string])[] = []) => {
          const timestamp = app.clock.now()
          const headers = {
            ...(await createHeaders({ method: 'POST', url: '/raw', body: signed, keyId: app.deviceId, secret: app.secret, timestamp })),
            authorization: `Bearer ${app.token}`,
          }
          const head = requestHead(app.host.url, 'POST /raw HTTP/1.1', [
            ...Object.entries(headers),
            ['transfer-encoding', 'chunked'],
            ...more,
          ])
          const chunks = [sent.subarray(0, 1), sent.subarray(1)].filter((chunk) => chunk.length > 0)
          const body = [
            ...chunks.flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
            Buffer.from('0\r\n\r\n'),
          ]
          return Number((await exchange(app.host.url, Buffer.concat([Buffer.from(head), ...body]))).slice(9, 12))
        }
        const text = Buffer.from('{"a":1}')
        const bom = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), text])
        assert.equal(await send(text, text), 200)
        assert.equal(await send(bom, bom), 200)
        assert.equal(await send(text, bom), 401)
        assert.equal(await send(Buffer.from([0xff, 0xfe]), Buffer.from([0xff, 0xfe])), 200)
        assert.equal(await send(Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])), 401)
        assert.equal(await send(text, gzipSync(text), [['content-encoding', 'gzip']]), 401)
        assert.equal(await send(gzipSync(text), gzipSync(text), [['content-encoding', 'gzip']]), 401)
      },
    ))

  it('S10: a body is checked on methods that seldom have one, and a truncated body is refused', () =>
    withApp(listening, async (app) => {
      const unsigned = requestHead(app.host.url, 'GET /api/me HTTP/1.1', [
        ...Object.entries(await app.headersOf()),
        ['content-length', '2'],
      ])
      assert.match(await exchange(app.host.url, `${unsigned}{}`), /^HTTP\/1\.1 401 /)
      const signed = Object.entries(await app.headersOf({ body: '{}' }))
      assert.match(
        await exchange(app.host.url, `${requestHead(app.host.url, 'GET /api/me HTTP/1.1', [...signed, ['content-length', '2']])}{}`),
        /^HTTP\/1\.1 200 /,
      )
    }))

  it('a body over the limit of its route is a 413 even when it is signed', () =>
    withApp({}, async (app) => {
      assert.equal((await app.send({ method: 'POST', path: '/api/notes', body: JSON.stringify({ text: 'x'.repeat(1000) }) })).status, 413)
    }))
})
