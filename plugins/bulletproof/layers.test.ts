import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { type AuthDecision, devicesService } from 'zin/plugins/bulletproof'
import { tokensService } from 'zin/plugins/jwt'
import { type Sending, sharedSecret, type TestApp, withApp } from './testing/app.js'

const uaHash = createHash('sha256').update('tests/1').digest('hex')
const unauthorized = '{"error":"Unauthorized","message":"Unauthorized","code":"UNAUTHORIZED","reason":"unauthorized"}'

function decisions(app: TestApp): readonly AuthDecision[] {
  return app.host.recorded('onAuthDecision').map(([decision]) => decision as AuthDecision)
}

interface Case {
  readonly layer: number
  readonly title: string
  readonly make: (app: TestApp) => Promise<Sending> | Sending
}

const passing: readonly Case[] = [
  { layer: 1, title: 'a bearer token in any case of the scheme', make: ({ token }) => ({ headers: { authorization: `bearer ${token}` } }) },
  {
    layer: 2,
    title: 'a token while another one of the same user is revoked',
    make: async (app) => {
      const tokens = app.service(tokensService)
      await tokens.revoke((await tokens.issue({ sub: '7' })).claims)
      return {}
    },
  },
  { layer: 3, title: 'the five headers', make: () => ({}) },
  { layer: 4, title: 'a timestamp at the end of the window', make: () => ({ skew: 60_000 }) },
  { layer: 5, title: 'a new nonce', make: () => ({ nonce: 'a-nonce-of-its-own' }) },
  { layer: 6, title: 'a body and a query', make: () => ({ method: 'POST', path: '/api/notes?a=1&b=%20', body: '{"text":"hé"}' }) },
  { layer: 7, title: 'a token without the claim deviceId', make: async (app) => ({ token: await app.tokenWith({ deviceId: undefined }) }) },
  {
    layer: 8,
    title: 'the time zone of the claim',
    make: async (app) => ({ token: await app.tokenWith({ tz: 'Europe/Paris' }), headers: { 'x-sig-timezone': 'Europe/Paris' } }),
  },
  {
    layer: 9,
    title: 'the user agent of the claim',
    make: async (app) => ({ token: await app.tokenWith({ uaHash }), headers: { 'user-agent': 'tests/1' } }),
  },
]

const failing: readonly Case[] = [
  { layer: 1, title: 'no token', make: () => ({ token: undefined }) },
  { layer: 1, title: 'a token with another scheme', make: ({ token }) => ({ headers: { authorization: `Basic ${token}` } }) },
  { layer: 1, title: 'a changed token', make: ({ token }) => ({ token: `${token.slice(0, -4)}AAAA` }) },
  {
    layer: 2,
    title: 'a revoked token',
    make: async (app) => {
      const tokens = app.service(tokensService)
      const { token, claims } = await tokens.issue({ sub: '7', deviceId: app.deviceId })
      await tokens.revoke(claims)
      return { token }
    },
  },
  { layer: 3, title: 'no signature', make: () => ({ headers: { 'x-sig-signature': undefined } }) },
  { layer: 3, title: 'a malformed nonce', make: () => ({ headers: { 'x-sig-nonce': 'short' } }) },
  { layer: 3, title: 'an overridden method', make: () => ({ headers: { 'x-http-method-override': 'DELETE' } }) },
  { layer: 4, title: 'a timestamp that is too old', make: () => ({ skew: -60_001 }) },
  { layer: 4, title: 'a timestamp ahead of time', make: () => ({ skew: 60_001 }) },
  { layer: 5, title: 'a request older than the nonce store', make: () => ({ skew: -1_000 }) },
  {
    layer: 5,
    title: 'a nonce that was used',
    make: async (app) => {
      const nonce = crypto.randomUUID()
      assert.equal((await app.send({ nonce })).status, 200)
      return { nonce, skew: 5 }
    },
  },
  { layer: 6, title: 'a signature with another secret', make: () => ({ secret: 'another-secret' }) },
  { layer: 6, title: 'the shared secret in the name of a device', make: () => ({ secret: sharedSecret }) },
  {
    layer: 6,
    title: 'a changed query',
    make: async (app) => ({ path: '/api/me?a=2', headers: pick(await app.headersOf({ path: '/api/me?a=1' })) }),
  },
  {
    layer: 6,
    title: 'a changed method',
    make: async (app) => ({ headers: pick(await app.headersOf({ method: 'POST', path: '/api/alone' })) }),
  },
  {
    layer: 6,
    title: 'a changed body',
    make: async (app) => ({
      method: 'POST',
      path: '/api/notes',
      body: '{"a":2}',
      headers: pick(await app.headersOf({ method: 'POST', path: '/api/notes', body: '{"a":1}' })),
    }),
  },
  { layer: 7, title: 'no device id', make: () => ({ headers: { 'x-sig-device-id': undefined } }) },
  { layer: 7, title: 'another device id', make: () => ({ headers: { 'x-sig-device-id': 'dev_other' } }) },
  { layer: 7, title: 'the token of another device', make: async (app) => ({ token: await app.tokenWith({ deviceId: 'dev_other' }) }) },
  {
    layer: 7,
    title: 'a borrowed token without the claim deviceId',
    make: async (app) => ({ token: await app.tokenWith({ sub: '8', deviceId: undefined }) }),
  },
  {
    layer: 8,
    title: 'another time zone',
    make: async (app) => ({ token: await app.tokenWith({ tz: 'Europe/Paris' }), headers: { 'x-sig-timezone': 'Asia/Tokyo' } }),
  },
  { layer: 8, title: 'no time zone', make: async (app) => ({ token: await app.tokenWith({ tz: 'Europe/Paris' }) }) },
  {
    layer: 9,
    title: 'another user agent',
    make: async (app) => ({ token: await app.tokenWith({ uaHash }), headers: { 'user-agent': 'tests/2' } }),
  },
  { layer: 9, title: 'no user agent', make: async (app) => ({ token: await app.tokenWith({ uaHash }) }) },
]

/** The signature of one request, to be put on another. */
function pick(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-sig-')))
}

describe('each layer', () => {
  for (const { layer, title, make } of passing) {
    it(`${layer} lets ${title} pass`, () =>
      withApp({}, async (app) => {
        const sending = await make(app)
        assert.equal((await app.send(sending)).status, 200)
        assert.deepEqual(decisions(app).at(-1), {
          layer: undefined,
          outcome: 'accepted',
          keyIdHash: decisions(app).at(-1)?.keyIdHash,
          path: sending.path?.split('?')[0] ?? '/api/me',
        })
      }))
  }

  for (const { layer, title, make } of failing) {
    it(`${layer} refuses ${title}`, () =>
      withApp({}, async (app) => {
        for (const route of ['/api/me', '/api/alone']) {
          const sending = await make(app)
          const path = sending.path ?? route
          const answer = await app.send({ ...sending, path })
          assert.equal(answer.status, 401)
          assert.equal(answer.text, unauthorized)
          const { outcome, ...decision } = decisions(app).at(-1) as AuthDecision
          assert.deepEqual([decision.layer, decision.path, outcome], [layer, path.split('?')[0], 'refused'])
          assert.equal(app.host.logs.filter((line) => line.msg === 'signed request refused').at(-1)?.layer, layer)
        }
      }))
  }

  it('S42: gives one and the same answer, to the byte and header', () =>
    withApp({}, async (app) => {
      const answers = new Set<string>()
      for (const { make } of failing) {
        for (const path of ['/api/me', '/api/alone']) {
          const sending = await make(app)
          const { status, text, headers } = await app.send({
            ...sending,
            path: sending.path ?? path,
            nonce: sending.nonce ?? crypto.randomUUID(),
          })
          answers.add(JSON.stringify([status, text, { ...headers, 'x-request-id': '', date: '', connection: '' }]))
        }
      }
      assert.equal(answers.size, 1, [...answers].join('\n'))
    }))

  it('is told to the hook with a hash of the key id and never to the answer', () =>
    withApp({}, async (app) => {
      await app.send({ path: '/api/alone', secret: 'wrong' })
      const keyIdHash = createHash('sha256').update(app.deviceId).digest('hex').slice(0, 16)
      assert.deepEqual(decisions(app), [{ layer: 6, outcome: 'refused', keyIdHash, path: '/api/alone' }])
    }))
})

describe('an accepted request', () => {
  it('carries the verified claims and the bytes that were signed', () =>
    withApp({}, async (app) => {
      assert.deepEqual((await app.send()).body, { user: '7' })
      assert.deepEqual((await app.send({ method: 'POST', path: '/api/notes', body: '{"a":"hé"}' })).body, { got: { a: 'hé' } })
    }))

  it('can come under another header prefix and from behind a gateway that cuts the path', () =>
    withApp({ options: { signedPathPrefix: '/gateway' }, env: { SIGNATURE_HEADER_PREFIX: 'x-zt-' } }, async (app) => {
      const headers = await app.headersOf({ path: '/gateway/api/me' })
      const renamed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace('x-sig-', 'x-zt-'), value]))
      assert.equal((await app.host.inject({ path: '/api/me', headers: renamed })).status, 200)
      assert.equal((await app.send()).status, 401)
    }))
})

describe('the failure responder', () => {
  it('makes the answer of every layer, knowing only that the request is unauthorized', () => {
    const reasons: string[] = []
    const responder = (_ctx: unknown, reason: string): unknown => {
      reasons.push(reason)
      return { no: reason }
    }
    return withApp({ responders: { bulletproof: responder } }, async (app) => {
      for (const sending of [{ token: undefined }, { secret: 'wrong' }, { skew: -90_000 }]) {
        for (const path of ['/api/me', '/api/alone']) {
          const answer = await app.send({ ...sending, path })
          assert.deepEqual([answer.status, answer.text], [401, '{"no":"unauthorized"}'])
        }
      }
      assert.deepEqual(new Set(reasons), new Set(['unauthorized']))
    })
  })
})

describe('secrets', () => {
  it('S39: are in no line of the log, whatever is sent', () =>
    withApp({ env: { LOG_LEVEL: 'trace' } }, async (app) => {
      for (const { make } of [...passing, ...failing]) {
        const sending = await make(app)
        await app.send({ ...sending, nonce: sending.nonce ?? crypto.randomUUID() })
      }
      const headers = await app.headersOf({ nonce: 'nonce-canary-0123456789' })
      await app.host.inject({ path: '/api/me', headers })
      await app.host.inject({ path: '/api/me', headers })
      await app.service(devicesService).remove(app.deviceId)
      const text = app.host.logText()
      for (const hidden of [app.secret, app.token, sharedSecret, 'canary', headers['x-sig-signature'] as string])
        assert.ok(!text.includes(hidden), hidden)
    }))
})
