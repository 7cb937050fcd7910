import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { type AuthDecision, devicesService } from 'zin/plugins/bulletproof'
import { sharedSecret, type TestApp, withApp } from './testing/app.js'
import { failing, passing } from './testing/layer-cases.js'

const unauthorized = '{"error":"Unauthorized","message":"Unauthorized","code":"UNAUTHORIZED","reason":"unauthorized"}'

function decisions(app: TestApp): readonly AuthDecision[] {
  return app.host.recorded('onAuthDecision').map(([decision]) => decision as AuthDecision)
}

describe('each layer', () => {
  for (const { layer, title, make } of passing) {
    it(`${layer} accepts ${title}`, () =>
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
          const response = await app.send({ ...sending, path })
          assert.equal(response.status, 401)
          assert.equal(response.text, unauthorized)
          const { outcome, ...decision } = decisions(app).at(-1) as AuthDecision
          assert.deepEqual([decision.layer, decision.path, outcome], [layer, path.split('?')[0], 'refused'])
          assert.equal(app.host.logs.filter((line) => line.msg === 'signed request refused').at(-1)?.layer, layer)
        }
      }))
  }

  it('S42: gives the same response byte for byte', () =>
    withApp({}, async (app) => {
      const responses = new Set<string>()
      for (const { make } of failing) {
        for (const path of ['/api/me', '/api/alone']) {
          const sending = await make(app)
          const { status, text, headers } = await app.send({
            ...sending,
            path: sending.path ?? path,
            nonce: sending.nonce ?? crypto.randomUUID(),
          })
          responses.add(JSON.stringify([status, text, { ...headers, 'x-request-id': '', date: '', connection: '' }]))
        }
      }
      assert.equal(responses.size, 1, [...responses].join('\n'))
    }))

  it('is reported to the hook with a hash of the key id, and never in the response', () =>
    withApp({}, async (app) => {
      await app.send({ path: '/api/alone', secret: 'wrong' })
      const keyIdHash = createHash('sha256').update(app.deviceId).digest('hex').slice(0, 16)
      assert.deepEqual(decisions(app), [{ layer: 6, outcome: 'refused', keyIdHash, path: '/api/alone' }])
    }))
})

describe('an accepted request', () => {
  it('carries the verified claims and the bytes that were signed', () =>
    withApp({}, async (app) => {
      assert.deepEqual((await app.send()).body, { user: '7', context: '7' })
      // Also on a route that does not list `auth` first.
      assert.deepEqual((await app.send({ path: '/api/alone' })).body, { user: '7', context: '7' })
      assert.deepEqual((await app.send({ method: 'POST', path: '/api/notes', body: '{"a":"hé"}' })).body, { got: { a: 'hé' } })
    }))

  it('can use another header prefix and come through a gateway that shortens the path', () =>
    withApp({ options: { signedPathPrefix: '/gateway' }, env: { SIGNATURE_HEADER_PREFIX: 'x-zt-' } }, async (app) => {
      const headers = await app.headersOf({ path: '/gateway/api/me' })
      const renamed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace('x-sig-', 'x-zt-'), value]))
      assert.equal((await app.host.inject({ path: '/api/me', headers: renamed })).status, 200)
      assert.equal((await app.send()).status, 401)
    }))
})

describe('the failure responder', () => {
  it('creates the response for every layer, and receives only the reason unauthorized', () => {
    const reasons: string[] = []
    const responder = (_ctx: unknown, reason: string): unknown => {
      reasons.push(reason)
      return { no: reason }
    }
    return withApp({ responders: { bulletproof: responder } }, async (app) => {
      for (const sending of [{ token: undefined }, { secret: 'wrong' }, { skew: -90_000 }]) {
        for (const path of ['/api/me', '/api/alone']) {
          const response = await app.send({ ...sending, path })
          assert.deepEqual([response.status, response.text], [401, '{"no":"unauthorized"}'])
        }
      }
      assert.deepEqual(new Set(reasons), new Set(['unauthorized']))
    })
  })
})

describe('secrets', () => {
  it('S39: are never logged, whatever is sent', () =>
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
