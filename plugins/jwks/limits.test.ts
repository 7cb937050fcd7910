import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { defineRoute } from 'zin'
import { jwks } from 'zin/plugins/jwks'
import { jwt } from 'zin/plugins/jwt'
import { createTestHost, type FakeClock, fakeClock } from 'zin/testing'
import type { JwksOptions } from './options.js'
import { identityProvider, newKey, type SigningKey } from './testing/identity-provider.js'

const who = defineRoute({ method: 'GET', path: '/who', summary: 'Who', use: ['auth'], handler: ({ request }) => request.user })

describe('each limit of jwks holds just above, and is met just below', () => {
  let provider: Awaited<ReturnType<typeof identityProvider>>
  let key: SigningKey
  before(async () => {
    provider = await identityProvider()
    key = await newKey('RS256')
  })
  after(() => provider.stop())

  interface Lab {
    readonly clock: FakeClock
    /** Sends a token of the issuer, as of now. */
    send(kid?: string): Promise<number>
    /** How often the keys were fetched so far. */
    fetches(): number
  }

  async function withLab(options: Partial<JwksOptions>, test: (lab: Lab) => Promise<void>): Promise<void> {
    provider.state.keys = [key.publicJwk]
    provider.state.asked = []
    provider.state.answer = undefined
    const clock = fakeClock(Date.now())
    const issuers = [{ issuer: provider.issuer, audience: 'api', algorithms: ['RS256' as const], jwksUrl: `${provider.issuer}/keys` }]
    const host = await createTestHost({
      plugins: [jwt(), jwks({ issuers, allowPrivate: true, ...options })],
      routes: [who],
      env: { JWT_SECRET: 's'.repeat(32), APP_NAME: 'shop' },
      clock,
    })
    try {
      await test({
        clock,
        fetches: () => provider.state.asked.length,
        send: async (kid) => {
          const iat = Math.floor(clock.now() / 1000)
          const claims = { iss: provider.issuer, aud: 'api', sub: 'ada', iat, exp: iat + 300 }
          const token = await key.sign(claims, kid === undefined ? {} : { kid })
          return (await host.inject({ path: '/who', headers: { authorization: `Bearer ${token}` } })).status
        },
      })
    } finally {
      await host.stop()
    }
  }

  const reply = (text: string) => (_path: string, response: ServerResponse) => Boolean(response.writeHead(200).end(text))

  it('maxBytes', async () => {
    const keys = JSON.stringify({ keys: [key.publicJwk] })
    for (const [bytes, status] of [
      [2000, 200],
      [2001, 503],
    ] as const)
      await withLab({ maxBytes: 2000 }, async ({ send }) => {
        provider.state.answer = reply(keys + ' '.repeat(bytes - keys.length))
        assert.equal(await send(), status)
      })
  })

  it('100 keys of an issuer', () =>
    withLab({}, async ({ send }) => {
      provider.state.keys = [...Array.from({ length: 99 }, (_, i) => ({ ...key.publicJwk, kid: `other-${i}` })), key.publicJwk]
      assert.equal(await send(), 200)
    }))

  it('cacheSeconds', () =>
    withLab({ cacheSeconds: 100, cooldownSeconds: 1 }, async ({ clock, send, fetches }) => {
      assert.deepEqual([await send(), fetches()], [200, 1])
      clock.advance(99_999)
      assert.deepEqual([await send(), fetches()], [200, 1])
      clock.advance(1)
      assert.equal(await send(), 200)
      // It is fetched beside the request.
      assert.deepEqual([await send('unknown'), fetches()], [401, 2])
    }))

  it('staleSeconds', () =>
    withLab({ cacheSeconds: 100, staleSeconds: 200, cooldownSeconds: 1 }, async ({ clock, send }) => {
      assert.equal(await send(), 200)
      provider.state.answer = (_path, response) => Boolean(response.writeHead(500).end())
      clock.advance(199_999)
      assert.equal(await send(), 200)
      clock.advance(1)
      assert.equal(await send(), 503)
    }))

  it('cooldownSeconds, however many tokens with unknown keys arrive', () =>
    withLab({ cooldownSeconds: 30 }, async ({ clock, send, fetches }) => {
      assert.deepEqual([await send(), fetches()], [200, 1])
      clock.advance(29_999)
      for (let i = 0; i < 20; i++) assert.equal(await send(`unknown-${i}`), 401)
      assert.equal(fetches(), 1)
      clock.advance(1)
      for (let i = 0; i < 20; i++) assert.equal(await send(`unknown-${i}`), 401)
      assert.equal(fetches(), 2)
    }))
})
