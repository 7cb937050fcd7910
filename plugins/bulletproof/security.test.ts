import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { describe, it } from 'node:test'
import { devicesService } from 'zin/plugins/bulletproof'
import { database, databaseService } from 'zin/plugins/database'
import { tokensService } from 'zin/plugins/jwt'
import { createHeaders, generateDeviceKey } from 'zin/signer'
import { sharedSecret, withApp } from './testing/app.js'
import { exchange, requestHead, withheld } from './testing/socket.js'

const listening = { listen: true, env: { HOST: '127.0.0.1' } }

describe('over a raw socket', () => {
  it('S1: no request line reaches a route by a path other than the signed one', () =>
    withApp(
      {
        ...listening,
        routes: [{ method: 'GET', path: '/api/admin', summary: 'Admin', use: ['auth', 'bulletproof'], handler: () => ({ admin: true }) }],
      },
      async (app) => {
        const response = async (target: string, signed: string): Promise<string> => {
          const headers = Object.entries(await app.headersOf({ path: signed }))
          return exchange(app.host.url, requestHead(app.host.url, `GET ${target} HTTP/1.1`, headers), /\r\n\r\n[\s\S]*\}|^HTTP\/1\.1 4/)
        }
        assert.match(await response('/api/admin', '/api/admin'), /^HTTP\/1\.1 200 [\s\S]*"admin":true/)
        assert.match(await response('/api/admin?', '/api/admin'), /^HTTP\/1\.1 200 /)
        const targets = [
          ...['//evil/api/admin', '/x/../api/admin', '/api/./admin', '/api/%2e/admin', '/x/%2E%2e/api/admin', '/api//admin', '/API/ADMIN'],
          ...['/api/admin/', '/api/admin#x', '/api\\admin', '/api/%61dmin', '/api/admin%00', '/api/admin;x', '/api/admin/.', 'api/admin'],
          ...['http://127.0.0.1/api/admin', '*', '/api/admin%2f', '/api%2Fadmin', '/./api/admin', '/api/adm\u00efn', '\\api\\admin'],
        ]
        for (const target of targets)
          for (const signed of ['/api/admin', target.startsWith('/') ? target : '/api/admin'])
            assert.match(await response(target, signed), /^HTTP\/1\.1 4\d\d (?![\s\S]*"admin":true)/, `${target} signed as ${signed}`)
      },
    ))

  it('S9: a malformed timestamp, nonce, hash or signature is a 401 and causes no failure', () =>
    withApp(listening, async (app) => {
      const nonce = 'a-nonce-0123456789'
      const bad: Record<string, readonly string[]> = {
        'x-sig-timestamp': ['123abc', '+1', '1e12', '176369000000', '17636900000000', '-1763690000000', '', ' '],
        'x-sig-nonce': ['short', 'x'.repeat(129), 'a nonce 0123456789', 'nonce-0123456789-\u00e9', '__proto__', '../../0123456789abc'],
        'x-sig-body-sha256': ['E'.repeat(64), 'e'.repeat(63), 'e'.repeat(65), 'g'.repeat(64)],
        'x-sig-signature': ['A'.repeat(64), 'a'.repeat(63), 'a'.repeat(66), '0x'.padEnd(64, '0')],
        'x-sig-key-id': ['', 'a b', 'x'.repeat(129), '\u00e9'],
      }
      for (const [name, values] of Object.entries(bad)) {
        for (const value of values) {
          const headers = Object.entries({ ...(await app.headersOf({ nonce })), [name]: value })
          const text = await exchange(app.host.url, requestHead(app.host.url, 'GET /api/me HTTP/1.1', headers))
          assert.match(text, /^HTTP\/1\.1 401 /, `${name}: ${value}`)
        }
      }
      const nul = Object.entries({ ...(await app.headersOf()), 'x-sig-nonce': 'a\u0000b-0123456789abc' })
      assert.match(await exchange(app.host.url, requestHead(app.host.url, 'GET /api/me HTTP/1.1', nul), /\r\n\r\n/), /^HTTP\/1\.1 40[01] /)
      assert.equal((await app.send({ nonce })).status, 200)
    }))

  it('S24: a request whose body is held back is refused when its nonce is used or its token revoked meanwhile', () =>
    withApp(listening, async (app) => {
      const body = '{"a":1}'
      const held = async (meanwhile: () => Promise<unknown>, nonce?: string): Promise<string> => {
        const signed = await app.headersOf({ method: 'POST', path: '/api/notes', body, ...(nonce !== undefined && { nonce }) })
        const headers = Object.entries({ ...signed, 'content-length': `${body.length}`, expect: '100-continue' })
        const head = requestHead(app.host.url, 'POST /api/notes HTTP/1.1', headers)
        const response = await withheld(app.host.url, head, body, async () => {
          await meanwhile()
          app.clock.advance(1_500)
        })
        return response.slice(9, 12)
      }
      const tokens = app.service(tokensService)
      assert.equal(await held(async () => undefined), '200')
      const nonce = 'held-nonce-0123456789'
      assert.equal(await held(() => app.send({ method: 'POST', path: '/api/notes', body, nonce }), nonce), '401')
      assert.equal(await held(() => tokens.revoke(tokens.verify(app.token))), '401')
      assert.equal((await app.send()).status, 401)
    }))

  it('S24: a request whose body is held back is refused when its device is removed meanwhile', () =>
    withApp(listening, async (app) => {
      const headers = Object.entries({
        ...(await app.headersOf({ method: 'POST', path: '/api/notes', body: '{}' })),
        'content-length': '2',
        expect: '100-continue',
      })
      const head = requestHead(app.host.url, 'POST /api/notes HTTP/1.1', headers)
      const response = await withheld(app.host.url, head, '{}', async () => {
        await app.service(devicesService).remove(app.deviceId)
        app.clock.advance(1_500)
      })
      assert.match(response, /^HTTP\/1\.1 401 /)
    }))

  it('S8: a second Authorization header is detected after any number of headers', () =>
    withApp(listening, async (app) => {
      const signed = Object.entries(await app.headersOf())
      const junk = Array.from({ length: 2200 }, () => ['a', ''] as const)
      const response = async (headers: readonly (readonly [string, string])[]): Promise<string> =>
        (await exchange(app.host.url, requestHead(app.host.url, 'GET /api/me HTTP/1.1', headers))).slice(9, 12)
      const second = ['authorization', 'Bearer x'] as const
      assert.equal(await response([...signed, ...junk, second]), await response([...signed, second]))
      assert.match(await response([...signed, second]), /^40[01]$/)
      assert.equal(await response([...Object.entries(await app.headersOf()), ...junk]), '200')
    }))

  it('S40: early data may read but not change anything', () =>
    withApp(listening, async (app) => {
      const early = async (method: string, path: string, body = ''): Promise<string> => {
        const headers = {
          ...(await app.headersOf({ method, path, ...(body && { body }) })),
          'early-data': '1',
          'content-length': `${body.length}`,
        }
        return (
          await exchange(app.host.url, `${requestHead(app.host.url, `${method} ${path} HTTP/1.1`, Object.entries(headers))}${body}`)
        ).slice(9, 12)
      }
      assert.equal(await early('POST', '/api/notes', '{}'), '425')
      assert.equal(await early('GET', '/api/me'), '200')
    }))
})

describe('the signed text', () => {
  it('S2: contains the query as sent, with its order, encoding and duplicates', () =>
    withApp({}, async (app) => {
      const status = async (signed: string, sent: string): Promise<number> =>
        (await app.host.inject({ path: sent, headers: await app.headersOf({ path: signed }) })).status
      for (const query of ['?a=1&b=2', '?a=%2F', '?a=x+y', '?a=1&a=2', '?a', '?%20', '?a=%c3%a9'])
        assert.equal(await status(`/api/me${query}`, `/api/me${query}`), 200, query)
      for (const [signed, sent] of [
        ['?a=1&b=2', '?b=2&a=1'],
        ['?a=%2F', '?a=/'],
        ['?a=%2F', '?a=%2f'],
        ['?a=x+y', '?a=x%20y'],
        ['?a=1&a=2', '?a=2&a=1'],
        ['?a=1&a=2', '?a=2'],
        ['?a=', '?a'],
        ['', '?a'],
        ['?a', ''],
      ] as const)
        assert.equal(await status(`/api/me${signed}`, `/api/me${sent}`), 401, `${signed} sent as ${sent}`)
      assert.equal(await status('/api/me', '/api/me?'), 200)
    }))

  it('S11: distinguishes Unicode normalization forms of the same text', () =>
    withApp(
      { routes: [{ method: 'GET', path: '/names/:name', summary: 'Name', use: ['auth', 'bulletproof'], handler: () => ({}) }] },
      async (app) => {
        const [composed, decomposed] = ['/names/caf%C3%A9', '/names/cafe%CC%81']
        const status = async (signed: string, sent: string): Promise<number> =>
          (await app.host.inject({ path: sent, headers: await app.headersOf({ path: signed }) })).status
        assert.deepEqual([await status(composed, composed), await status(decomposed, decomposed)], [200, 200])
        assert.deepEqual([await status(composed, decomposed), await status(decomposed, composed)], [401, 401])
      },
    ))
})

describe('S13: the work for a request', () => {
  it('does not depend on whether its key id exists, its secret is correct, or its device is removed', async (t) => {
    const counts = { createHmac: 0, verify: 0 }
    for (const name of ['createHmac', 'verify'] as const) {
      const original = crypto[name] as (...args: unknown[]) => unknown
      t.mock.method(crypto, name, (...args: unknown[]) => {
        counts[name] += 1
        return original(...args)
      })
    }
    // Updates the named imports of modules.
    syncBuiltinESMExports()
    t.after(() => {
      t.mock.restoreAll()
      syncBuiltinESMExports()
    })
    const env = { BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify(['backup-1', 'backup-2']) }
    await withApp({ env }, async (app) => {
      const devices = app.service(devicesService)
      const removed = await devices.enroll({ userId: '7' })
      await devices.remove(removed.device.deviceId)
      const { privateKey, publicKey } = await generateDeviceKey()
      const keyed = (await devices.enroll({ userId: '7', publicKey })).device.deviceId
      const token = await app.tokenWith({ deviceId: undefined })
      const ids = [app.deviceId, removed.device.deviceId, keyed, 'nobody', 'zin-cli']
      const spent = async (send: () => Promise<unknown>): Promise<number[]> => {
        Object.assign(counts, { createHmac: 0, verify: 0 })
        await send()
        return [counts.createHmac, counts.verify]
      }
      await app.send({ token })
      for (const keyId of ids)
        for (const secret of [app.secret, 'wrong', sharedSecret, 'backup-2'])
          assert.deepEqual(await spent(() => app.send({ keyId, secret, token })), [3, 0], keyId)
      for (const keyId of ids) {
        const headers = await createHeaders({
          ...{ profile: 'rfc9421', method: 'GET', url: 'http://localhost/api/me', keyId, privateKey },
          ...{ authorization: `Bearer ${token}`, timestamp: app.clock.now() + 1_000 },
        })
        const send = () => app.host.inject({ path: '/api/me', headers: { host: 'localhost', ...headers } })
        assert.deepEqual(await spent(send), [0, 1], keyId)
      }
    })
  })
})

describe('the nonce store', () => {
  it('S6: is empty after 1,000 requests with wrong signatures', () =>
    withApp({ plugins: [database()], options: { nonceStore: 'db' } }, async (app) => {
      const headers = { ...(await app.headersOf()), 'x-sig-signature': 'a'.repeat(64) }
      for (let request = 0; request < 1_000; request += 1) {
        const nonce = `stranger-${request}-0123456789`
        assert.equal((await app.host.inject({ path: '/api/me', headers: { ...headers, 'x-sig-nonce': nonce } })).status, 401)
      }
      const rows = await app.service(databaseService).tables().selectFrom('bulletproof_nonces').selectAll().execute()
      assert.deepEqual(
        rows.map(({ id }) => id),
        ['since'],
      )
    }))
})

describe('another service with the same secrets', () => {
  it('S3: refuses a request that was signed for the first one', () =>
    withApp({}, (one) =>
      withApp({ env: { JWT_AUDIENCE: 'billing' } }, async (other) => {
        other.clock.set(one.clock.now())
        const headers = await one.headersOf({ keyId: 'caller', secret: sharedSecret, token: await one.tokenWith({ deviceId: undefined }) })
        assert.equal((await other.host.inject({ path: '/api/me', headers })).status, 401)
        assert.equal((await one.host.inject({ path: '/api/me', headers })).status, 200)
      }),
    ))
})
