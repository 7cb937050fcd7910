import assert from 'node:assert/strict'
import { createHash, KeyObject, type webcrypto } from 'node:crypto'
import { describe, it } from 'node:test'
import { createSigner, httpbis } from 'http-message-signatures'
import type { Context } from 'koa'
import {
  type AuthDecision,
  devicesService,
  type Refusal,
  type SignedBy,
  type SignedRequests,
  signedRequestsService,
} from 'zin/plugins/bulletproof'
import { database, databaseService } from 'zin/plugins/database'
import { tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { createHeaders, generateDeviceKey, type Rfc9421Credential } from 'zin/signer'
import { countsOf, sharedSecret, type TestApp, type TestAppOptions, withApp } from './testing/app.js'
import { exchange, requestHead } from './testing/socket.js'

const host = 'api.example.com'
const uaHash = createHash('sha256').update('tests/1').digest('hex')
const unauthorized = '{"error":"Unauthorized","message":"Unauthorized","code":"UNAUTHORIZED","reason":"unauthorized"}'

/** A device and its credential. */
interface Device {
  readonly alg: 'hmac-sha256' | 'ed25519'
  readonly id: string
  readonly credential: Rfc9421Credential
}

/** Deviations of a request from a valid one. */
interface Sending {
  readonly method?: string
  readonly path?: string
  readonly body?: string
  readonly contentType?: string
  readonly keyId?: string
  readonly credential?: Rfc9421Credential
  readonly token?: string | undefined
  readonly skew?: number
  readonly nonce?: string
  /** Headers that replace the signed ones; `undefined` omits a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

async function headersOf(app: TestApp, device: Device, sending: Sending = {}): Promise<Record<string, string>> {
  const { method = 'GET', path = '/api/me', body, skew = 0, nonce } = sending
  const token = 'token' in sending ? sending.token : await app.tokenWith({ deviceId: device.id })
  const signed = await createHeaders({
    profile: 'rfc9421',
    method,
    url: `https://${host}${path}`,
    body,
    contentType: sending.contentType ?? (body === undefined ? undefined : 'application/json'),
    authorization: token && `Bearer ${token}`,
    keyId: sending.keyId ?? device.id,
    ...(sending.credential ?? device.credential),
    timestamp: app.clock.now() + skew,
    ...(nonce === undefined ? {} : { nonce }),
  })
  const all = Object.entries({ host, ...signed, ...sending.headers })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined))
}

async function send(app: TestApp, device: Device, sending: Sending = {}) {
  const { method = 'GET', path = '/api/me', body } = sending
  return app.host.inject({ method, path, headers: await headersOf(app, device, sending), ...(body === undefined ? {} : { body }) })
}

/** An app with two devices of user 7: one signs with its secret, the other with its own key. */
async function withDevices(given: TestAppOptions, test: (app: TestApp, devices: readonly Device[]) => Promise<void>): Promise<void> {
  // An app on a loopback bind serves only loopback names by default.
  return withApp({ ...given, env: { HOST: '0.0.0.0', ...given.env } }, async (app) => {
    const { privateKey, publicKey } = await generateDeviceKey()
    const { device, secret } = await app.service(devicesService).enroll({ userId: '7', publicKey })
    assert.deepEqual([secret, device.publicKey, device.profile], ['', publicKey, 'rfc9421'])
    app.clock.advance(1_000 - (app.clock.now() % 1_000))
    await test(app, [
      { alg: 'hmac-sha256', id: app.deviceId, credential: { secret: app.secret } },
      { alg: 'ed25519', id: device.deviceId, credential: { privateKey } },
    ])
  })
}

const lastDecision = (app: TestApp): AuthDecision => app.host.recorded('onAuthDecision').at(-1)?.[0] as AuthDecision

interface Case {
  readonly layer: number
  readonly title: string
  readonly make: (app: TestApp, device: Device) => Promise<Sending> | Sending
}

const notes = { method: 'POST', path: '/api/notes', body: '{"a":1}' }

const passing: readonly Case[] = [
  { layer: 2, title: 'a token that is not revoked', make: () => ({}) },
  { layer: 3, title: 'all eight components', make: () => notes },
  { layer: 3, title: 'a request with a further signature', make: withForeignSignature },
  { layer: 4, title: 'a time at the end of the window', make: () => ({ skew: 60_000 }) },
  { layer: 4, title: 'a time within the last second of the window', make: () => ({ skew: 60_999 }) },
  { layer: 5, title: 'a new nonce', make: () => ({ nonce: `a-nonce-${crypto.randomUUID()}` }) },
  { layer: 6, title: 'a body and a query', make: () => ({ ...notes, path: '/api/notes?a=1&b=%20', body: '{"text":"hé"}' }) },
  { layer: 6, title: 'an empty body and a lone question mark', make: () => ({ path: '/api/me?' }) },
  { layer: 7, title: 'a token without the claim deviceId', make: async (app) => ({ token: await app.tokenWith({ deviceId: undefined }) }) },
  {
    layer: 8,
    title: 'the time zone of the claim',
    make: async (app, { id }) => ({
      token: await app.tokenWith({ deviceId: id, tz: 'Europe/Paris' }),
      headers: { 'x-sig-timezone': 'Europe/Paris' },
    }),
  },
  {
    layer: 9,
    title: 'the user agent of the claim',
    make: async (app, { id }) => ({ token: await app.tokenWith({ deviceId: id, uaHash }), headers: { 'user-agent': 'tests/1' } }),
  },
]

async function withForeignSignature(app: TestApp, device: Device): Promise<Sending> {
  const nonce = crypto.randomUUID()
  const own = await headersOf(app, device, { nonce })
  const { authorization, signature, 'signature-input': input } = own as { [name: string]: string }
  return {
    token: (authorization as string).slice(7),
    nonce,
    headers: { signature: `cdn=:AAAA:, ${signature}`, 'signature-input': `cdn=("@authority");created=1;tag="cdn", ${input}` },
  }
}

/** The headers of one request, for use on another. */
async function of(app: TestApp, device: Device, sending: Sending): Promise<Readonly<Record<string, string>>> {
  return headersOf(app, device, sending)
}

const failing: readonly Case[] = [
  { layer: 1, title: 'no token', make: () => ({ token: undefined }) },
  { layer: 1, title: 'a changed token', make: async (app) => ({ token: `${app.token.slice(0, -4)}AAAA` }) },
  {
    layer: 2,
    title: 'a revoked token',
    make: async (app, device) => {
      const tokens = app.service(tokensService)
      const { token, claims } = await tokens.issue({ sub: '7', deviceId: device.id })
      await tokens.revoke(claims)
      return { token }
    },
  },
  { layer: 3, title: 'no signature', make: () => ({ headers: { signature: undefined } }) },
  { layer: 3, title: 'no device id', make: () => ({ headers: { 'x-sig-device-id': undefined } }) },
  {
    layer: 3,
    title: 'a token that is not covered',
    make: async (app) => ({ token: undefined, headers: { authorization: `Bearer ${app.token}` } }),
  },
  { layer: 3, title: 'a content type that is not covered', make: () => ({ headers: { 'content-type': 'text/plain' } }) },
  { layer: 3, title: 'a digest that is omitted', make: () => ({ ...notes, headers: { 'content-digest': undefined } }) },
  { layer: 3, title: 'a digest by another algorithm', make: () => ({ ...notes, headers: { 'content-digest': 'md5=:AAAA:' } }) },
  { layer: 3, title: 'an overridden method', make: () => ({ headers: { 'x-http-method-override': 'DELETE' } }) },
  { layer: 3, title: 'an encoded body', make: () => ({ ...notes, headers: { 'content-encoding': 'gzip' } }) },
  { layer: 3, title: 'a host that is not in lower case', make: () => ({ headers: { host: 'API.example.com' } }) },
  {
    layer: 3,
    title: 'a request signed by both profiles',
    make: async (app) => ({ headers: await app.headersOf({ headers: { authorization: undefined } }) }),
  },
  { layer: 3, title: 'a header of the other profile', make: () => ({ headers: { 'x-sig-key-id': 'x' } }) },
  { layer: 4, title: 'a time that is too old', make: () => ({ skew: -60_001 }) },
  { layer: 4, title: 'a time too far ahead', make: () => ({ skew: 61_000 }) },
  { layer: 5, title: 'a request older than the nonce store', make: () => ({ skew: -4_000 }) },
  {
    layer: 5,
    title: 'a used nonce',
    make: async (app, device) => {
      const nonce = crypto.randomUUID()
      assert.equal((await send(app, device, { nonce })).status, 200)
      return { nonce, skew: 1_000 }
    },
  },
  { layer: 6, title: 'another secret', make: () => ({ credential: { secret: 'another-secret' } }) },
  { layer: 6, title: 'another key', make: async () => ({ credential: { privateKey: (await generateDeviceKey()).privateKey } }) },
  { layer: 6, title: 'the shared secret in the name of a device', make: () => ({ credential: { secret: sharedSecret } }) },
  {
    layer: 6,
    title: 'the public key as a secret',
    make: async (app, { id }) => ({ credential: { secret: (await app.service(devicesService).get(id))?.publicKey ?? 'none' } }),
  },
  { layer: 6, title: 'another method', make: async (app, device) => ({ headers: await of(app, device, { method: 'POST' }) }) },
  { layer: 6, title: 'another host', make: () => ({ headers: { host: 'api2.example.com' } }) },
  { layer: 6, title: 'another port', make: () => ({ headers: { host: `${host}:8443` } }) },
  { layer: 6, title: 'another path', make: async (app, device) => ({ headers: await of(app, device, { path: '/api/alone' }) }) },
  {
    layer: 6,
    title: 'another query',
    make: async (app, device) => ({ path: '/api/me?a=2', headers: await of(app, device, { path: '/api/me?a=1' }) }),
  },
  { layer: 6, title: 'another content type', make: () => ({ ...notes, headers: { 'content-type': 'application/vnd.api+json' } }) },
  {
    layer: 6,
    title: 'another body and its digest',
    make: async (app, device) => {
      const other = await of(app, device, { ...notes, body: '{"a":2}' })
      return { ...notes, body: '{"a":2}', headers: { ...(await of(app, device, notes)), 'content-digest': other['content-digest'] } }
    },
  },
  { layer: 6, title: 'another body', make: async (app, device) => ({ ...notes, body: '{"a":2}', headers: await of(app, device, notes) }) },
  {
    layer: 6,
    title: 'a body where none was signed',
    make: async (app, device) => ({
      ...notes,
      headers: { 'content-digest': undefined, ...(await of(app, device, { ...notes, body: '', contentType: 'application/json' })) },
    }),
  },
  {
    layer: 6,
    title: 'another valid token',
    make: async (app, { id }) => ({ headers: { authorization: `Bearer ${await app.tokenWith({ deviceId: id, role: 'admin' })}` } }),
  },
  {
    layer: 6,
    title: 'the id of another device',
    make: async (app) => {
      const { device } = await app.service(devicesService).enroll({ userId: '7' })
      return { headers: { 'x-sig-device-id': device.deviceId } }
    },
  },
  ...['created', 'nonce', 'keyid', 'alg'].map((name) => ({
    layer: name === 'created' || name === 'nonce' ? 6 : name === 'alg' ? 3 : 6,
    title: `another ${name}`,
    make: async (app: TestApp, device: Device) => {
      const headers = await of(app, device, {})
      const input = headers['signature-input'] as string
      const changes: Readonly<Record<string, readonly [RegExp, string]>> = {
        created: [/created=(\d+)/, `created=${Math.floor(app.clock.now() / 1000) + 1}`],
        nonce: [/nonce="[^"]+"/, `nonce="${crypto.randomUUID()}"`],
        keyid: [/keyid="[^"]+"/, 'keyid="zin-cli"'],
        alg: [/alg="[^"]+"/, `alg="${device.alg === 'ed25519' ? 'hmac-sha256' : 'ed25519'}"`],
      }
      const [from, to] = changes[name] as readonly [RegExp, string]
      return { headers: { ...headers, 'signature-input': input.replace(from, to) } }
    },
  })),
  {
    layer: 7,
    title: 'a signed device id that is not the key id',
    make: async (app, device) => {
      const { secret } = device.credential
      const key = secret === undefined ? KeyObject.from(device.credential.privateKey as webcrypto.CryptoKey) : Buffer.from(secret)
      const request = {
        method: 'GET',
        url: `https://${host}/api/me`,
        headers: { authorization: `Bearer ${await app.tokenWith({ deviceId: undefined })}`, 'x-sig-device-id': 'dev_other' },
      }
      const { headers } = await httpbis.signMessage(
        {
          key: createSigner(key as never, device.alg, device.id),
          fields: ['@method', '@authority', '@path', '@query', 'authorization', 'x-sig-device-id'],
          params: ['created', 'nonce', 'keyid', 'alg', 'tag'],
          paramValues: { created: new Date(app.clock.now()), nonce: crypto.randomUUID(), tag: 'zin-bulletproof' },
        },
        request,
      )
      return { headers: { signature: undefined, 'signature-input': undefined, ...(headers as Record<string, string>) } }
    },
  },
  { layer: 7, title: 'the token of another device', make: async (app) => ({ token: await app.tokenWith({ deviceId: 'dev_other' }) }) },
  {
    layer: 7,
    title: 'a borrowed token without the claim deviceId',
    make: async (app) => ({ token: await app.tokenWith({ sub: '8', deviceId: undefined }) }),
  },
  {
    layer: 8,
    title: 'another time zone',
    make: async (app, { id }) => ({
      token: await app.tokenWith({ deviceId: id, tz: 'Europe/Paris' }),
      headers: { 'x-sig-timezone': 'Asia/Tokyo' },
    }),
  },
  { layer: 9, title: 'no user agent', make: async (app, { id }) => ({ token: await app.tokenWith({ deviceId: id, uaHash }) }) },
]

describe('by RFC 9421, each layer', () => {
  for (const { layer, title, make } of passing) {
    it(`${layer} accepts ${title}`, () =>
      withDevices({}, async (app, devices) => {
        for (const device of devices) {
          const sending = await make(app, device)
          const { status } = await send(app, device, sending)
          assert.equal(status, 200, `${device.alg}: ${JSON.stringify(app.host.logs.at(-1))}`)
          const keyIdHash = createHash('sha256').update(device.id).digest('hex').slice(0, 16)
          const path = sending.path?.split('?')[0] ?? '/api/me'
          assert.deepEqual(lastDecision(app), { layer: undefined, outcome: 'accepted', keyIdHash, path })
        }
      }))
  }

  for (const { layer, title, make } of failing) {
    it(`${layer} refuses ${title}`, () =>
      withDevices({}, async (app, devices) => {
        for (const device of devices) {
          const response = await send(app, device, await make(app, device))
          assert.deepEqual([response.status, response.text], [401, unauthorized], device.alg)
          const { layer: failed, outcome } = lastDecision(app)
          assert.deepEqual([failed, outcome], [layer, 'refused'], `${device.alg}: ${JSON.stringify(app.host.logs.at(-1))}`)
        }
      }))
  }

  it('returns the same response byte for byte for both profiles, and logs no secret', () =>
    withDevices({ env: { LOG_LEVEL: 'trace' } }, async (app, devices) => {
      const responses = new Set<string>()
      const hidden = new Set([app.secret, app.token, sharedSecret])
      const note = ({ status, text, headers }: Awaited<ReturnType<typeof send>>) =>
        responses.add(JSON.stringify([status, text, { ...headers, 'x-request-id': '', date: '', connection: '' }]))
      note(await app.send({ secret: 'wrong' }))
      for (const device of devices) {
        for (const { make } of failing) {
          const sending = await make(app, device)
          const headers = await headersOf(app, device, sending)
          for (const name of ['signature', 'authorization']) {
            const value = /(?:zin=:|Bearer )([^:]+)/.exec(headers[name] ?? '')?.[1]
            if (value !== undefined) hidden.add(value)
          }
          const { method = 'GET', path = '/api/me', body } = sending
          note(await app.host.inject({ method, path, headers, ...(body === undefined ? {} : { body }) }))
        }
      }
      assert.equal(responses.size, 1, [...responses].join('\n'))
      const text = app.host.logText()
      for (const value of hidden) assert.ok(!text.includes(value), value)
    }))
})

const backends: readonly (TestAppOptions & { readonly name: string })[] = [
  { name: 'memory' },
  { name: 'kv on SQLite', plugins: [database(), kv()], options: { nonceStore: 'kv', deviceStore: 'kv' } },
  { name: 'tables on SQLite', plugins: [database()], options: { nonceStore: 'db', deviceStore: 'db' } },
  { name: 'tables behind a kv', plugins: [database(), kv()] },
]

for (const { name, ...backend } of backends) {
  describe(`by RFC 9421, with ${name},`, () => {
    it('one of 30 concurrent copies of a request is accepted, and none later', () =>
      withDevices(backend, async (app, devices) => {
        for (const device of devices) {
          const headers = await headersOf(app, device, { skew: 59_000 })
          const replay = () => app.host.inject({ path: '/api/me', headers })
          assert.deepEqual(countsOf(await Promise.all(Array.from({ length: 30 }, replay))), { 200: 1, 401: 29 })
        }
        const [device] = devices as [Device]
        const headers = await headersOf(app, device, { skew: 59_000 })
        assert.equal((await app.host.inject({ path: '/api/me', headers })).status, 200)
        for (const ms of [1, 60_999, 57_999, 1_000, 60_000]) {
          app.clock.advance(ms)
          assert.equal((await app.host.inject({ path: '/api/me', headers })).status, 401)
        }
      }))

    it('a device that has signed so once cannot go back to v1 until its user logs in with it again', () =>
      withDevices(backend, async (app, [device]) => {
        const devices = app.service(devicesService)
        assert.ok(device !== undefined)
        assert.equal((await app.send()).status, 200)
        assert.equal((await send(app, device, { token: await app.tokenWith({ deviceId: 'dev_other' }) })).status, 401)
        assert.equal((await app.send()).status, 200)
        assert.equal((await devices.get(device.id))?.profile, 'v1')
        assert.equal((await send(app, device)).status, 200)
        assert.equal((await app.send()).status, 401)
        assert.equal(lastDecision(app).layer, 6)
        assert.match(String(app.host.logs.findLast(({ reason }) => reason !== undefined)?.reason), /pinned to RFC 9421/)
        assert.equal((await send(app, device)).status, 200)
        assert.equal((await devices.list('7')).find(({ deviceId }) => deviceId === device.id)?.profile, 'rfc9421')
        const { secret } = await devices.enroll({ userId: '7', deviceId: device.id })
        assert.equal((await app.send({ secret })).status, 200)
      }))

    it('a device with its own key has no secret, cannot sign with anything else, and is refused once removed', () =>
      withDevices(backend, async (app, [, device]) => {
        const devices = app.service(devicesService)
        assert.ok(device !== undefined)
        const publicKey = (await devices.get(device.id))?.publicKey as string
        const v1 = { keyId: device.id, token: await app.tokenWith({ deviceId: device.id }) }
        for (const secret of [publicKey, `ed25519:${publicKey}`, sharedSecret])
          assert.equal((await app.send({ ...v1, secret })).status, 401)
        assert.equal((await send(app, device)).status, 200)
        assert.equal(await devices.remove(device.id), true)
        assert.equal((await send(app, device)).status, 401)
        const next = await generateDeviceKey()
        await devices.enroll({ userId: '7', deviceId: device.id, publicKey: next.publicKey })
        assert.equal((await send(app, device)).status, 401)
        assert.equal((await send(app, device, { credential: { privateKey: next.privateKey } })).status, 200)
      }))
  })
}

describe('by RFC 9421', () => {
  it('a nonce is used up for both profiles, because the secret is the same', () =>
    withDevices({}, async (app) => {
      const device = { alg: 'hmac-sha256', id: 'caller-1', credential: { secret: sharedSecret } } as const
      const nonce = crypto.randomUUID()
      const token = await app.tokenWith({ deviceId: undefined })
      assert.equal((await app.send({ keyId: 'caller-1', secret: sharedSecret, nonce, token })).status, 200)
      assert.equal((await send(app, device, { nonce, token })).status, 401)
      assert.equal(lastDecision(app).layer, 5)
      assert.equal((await send(app, device, { token })).status, 200)
      assert.equal((await app.send({ keyId: 'caller-1', secret: sharedSecret, token })).status, 200)
    }))

  it('a caller with the shared secret needs no token, and must cover a token that it sends', () => {
    let signed: SignedRequests | undefined
    let response: SignedBy | Refusal | undefined
    const handler = async (ctx: Context): Promise<object> => {
      response = await signed?.verify(ctx, ['shared'])
      return {}
    }
    return withDevices({ routes: [{ method: 'POST', path: '/ops', summary: 'Ops', handler }] }, async (app, [device]) => {
      signed = app.service(signedRequestsService)
      const layerOf = async (by: Device, headers = {}): Promise<number | undefined> => {
        await send(app, by, { method: 'POST', path: '/ops', body: '{}', token: undefined, headers })
        return response?.ok === false ? response.layer : undefined
      }
      const caller = { alg: 'hmac-sha256', id: 'zin-cli', credential: { secret: sharedSecret } } as const
      assert.equal(await layerOf(caller), undefined)
      assert.deepEqual(response, { ok: true, signer: { kind: 'shared', keyId: 'zin-cli' } })
      assert.equal(await layerOf(caller, { authorization: 'Bearer a.b.c' }), 3)
      assert.ok(device !== undefined)
      assert.equal(await layerOf(device), 6)
    })
  })

  it('a request can come through a gateway that changes host and path', () =>
    withDevices({ options: { signedAuthority: 'public.example.com', signedPathPrefix: '/gateway' } }, async (app, devices) => {
      for (const device of devices) {
        const { credential, id } = device
        const authorization = `Bearer ${await app.tokenWith({ deviceId: id })}`
        const signed = async (url: string) =>
          createHeaders({ profile: 'rfc9421', method: 'GET', url, keyId: id, authorization, timestamp: app.clock.now(), ...credential })
        for (const [url, status] of [
          ['https://public.example.com/gateway/api/me', 200],
          ['https://public.example.com/api/me', 401],
          ['https://other.example.com/gateway/api/me', 401],
        ] as const)
          assert.equal(
            (await app.host.inject({ path: '/api/me', headers: { host: 'backend:7777', ...(await signed(url)) } })).status,
            status,
          )
      }
    }))

  it('a request can use another header prefix', () =>
    withApp({ env: { HOST: '0.0.0.0', SIGNATURE_HEADER_PREFIX: 'x-zt-' } }, async (app) => {
      const authorization = `Bearer ${app.token}`
      const common = { profile: 'rfc9421', method: 'GET', url: `http://${host}/api/me`, keyId: app.deviceId, secret: app.secret } as const
      for (const [headerPrefix, status] of [
        ['x-zt-', 200],
        ['x-sig-', 401],
      ] as const) {
        const headers = await createHeaders({ ...common, authorization, headerPrefix, timestamp: app.clock.now() + 1_000 })
        assert.equal((await app.host.inject({ path: '/api/me', headers: { host, ...headers } })).status, status)
      }
    }))

  it('a request with a wrong signature is refused before any of its body is requested or read', () =>
    withDevices({ listen: true, env: { HOST: '127.0.0.1' } }, async (app, devices) => {
      for (const device of devices) {
        const { host: authority } = new URL(app.host.url)
        const head = async (credential: Rfc9421Credential, more: readonly (readonly [string, string])[] = []) => {
          const headers = await createHeaders({
            ...{ profile: 'rfc9421', method: 'POST', url: `${app.host.url}/api/notes`, body: '{"a":1}', contentType: 'application/json' },
            ...{ authorization: `Bearer ${await app.tokenWith({ deviceId: device.id })}`, keyId: device.id, timestamp: app.clock.now() },
            ...credential,
          } as never)
          return requestHead(`http://${authority}`, 'POST /api/notes HTTP/1.1', [
            ...Object.entries(headers),
            ['content-length', '7'],
            ...more,
          ])
        }
        const wrong = { secret: 'wrong' }
        assert.match(await exchange(app.host.url, await head(wrong)), /^HTTP\/1\.1 401 /)
        assert.match(await exchange(app.host.url, await head(wrong, [['expect', '100-continue']])), /^HTTP\/1\.1 401 /)
        assert.match(await exchange(app.host.url, `${await head(device.credential)}{"a":2}`), /^HTTP\/1\.1 401 /)
        assert.match(await exchange(app.host.url, `${await head(device.credential)}{"a":1}`), /^HTTP\/1\.1 200 /)
      }
    }))

  it('the table stores a public key sealed: it cannot be opened in another row, and a plain one is refused', () =>
    withDevices({ plugins: [database()] }, async (app, [, device]) => {
      assert.ok(device !== undefined)
      const devices = app.service(devicesService)
      const tables = app.service(databaseService).tables()
      const publicKey = (await devices.get(device.id))?.publicKey as string
      const rows = await tables.selectFrom('bulletproof_devices').selectAll().execute()
      assert.ok(!JSON.stringify(rows).includes(publicKey))
      const victim = { ...device, id: app.deviceId }
      const envelope = rows.find((row) => row.device_id === device.id)?.signing_secret
      for (const signing_secret of [envelope, `ed25519:${publicKey}`, publicKey]) {
        await tables.updateTable('bulletproof_devices').set({ signing_secret }).where('device_id', '=', app.deviceId).execute()
        assert.equal((await send(app, victim)).status, 401)
      }
    }))

  it('no device is created for an invalid public key', () =>
    withApp({}, async (app) => {
      const good = (await generateDeviceKey()).publicKey
      for (const publicKey of ['', 'x', good.slice(1), `${good}A`, `${good.slice(0, 42)}B`, good.replace(/.$/, '='), `+${good.slice(1)}`])
        await assert.rejects(app.service(devicesService).enroll({ userId: '7', publicKey }), {
          code: 'DEVICE_PUBLIC_KEY_INVALID',
          status: 400,
        })
    }))

  it('the list of devices shows the profile and the public key', () =>
    withDevices({}, async (app, [, device]) => {
      assert.ok(device !== undefined)
      const { body } = await send(app, device, { path: '/auth/devices' })
      const listed = new Map(body.devices.map((entry: { deviceId: string }) => [entry.deviceId, entry]))
      const own = listed.get(device.id) as Record<string, unknown>
      assert.deepEqual([own.profile, own.current, typeof own.publicKey], ['rfc9421', true, 'string'])
      const other = listed.get(app.deviceId) as Record<string, unknown>
      assert.deepEqual([other.profile, other.current, other.publicKey], ['v1', false, undefined])
    }))
})
