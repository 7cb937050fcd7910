import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { definePlugin, defineRoute, storeUnavailable } from 'zin'
import { type Claims, type CredentialKind, credentialsService, jwt, tokensService } from 'zin/plugins/jwt'
import { createTestHost, fakeClock, type TestHost } from 'zin/testing'

const env = { JWT_SECRET: 'a-secret-of-at-least-thirty-two-bytes', APP_NAME: 'shop' }
const who = defineRoute({ method: 'GET', path: '/who', summary: 'Who', use: ['auth'], handler: (ctx) => ({ sub: ctx.request.user.sub }) })
const claimsOf = (sub: string): Claims => ({ sub, jti: `of-${sub}`, iss: 'x', aud: 'x', iat: 1_000, exp: 4_000_000_000 })

/** A kind that knows the keys `key-<sub>`, as a bearer token and in the header `x-key`. */
const keys: CredentialKind = {
  name: 'key',
  security: { key: { type: 'apiKey', in: 'header', name: 'x-key' } },
  fromToken: (token) => (token.startsWith('key-') ? { claims: claimsOf(token.slice(4)) } : undefined),
  fromRequest(ctx) {
    const key = ctx.get('x-key')
    if (key === '') return undefined
    if (key === 'broken') throw storeUnavailable(new Error('down'))
    return key.startsWith('key-') ? { claims: claimsOf(key.slice(4)), revocable: false } : { refused: 'the key is unknown' }
  },
}

async function withHost(test: (host: TestHost, ended: string[]) => Promise<void>): Promise<void> {
  const ended: string[] = []
  const plugin = definePlugin({
    name: 'api-keys',
    version: '1.0.0',
    uses: { credentials: credentialsService },
    setup({ services, hooks, onStop }) {
      const remove = services.credentials.accept(keys)
      onStop(remove)
      hooks.on('onRevokeUser', (sub) => {
        if (sub === 'stuck') throw new Error('the store is down')
        ended.push(sub)
      })
    },
  })
  const host = await createTestHost({ plugins: [jwt(), plugin()], routes: [who], env, clock: fakeClock() })
  try {
    await test(host, ended)
  } finally {
    await host.stop()
  }
}

describe('other credentials', () => {
  const get = async (host: TestHost, headers: Record<string, string>) => {
    const { status, body, text } = await host.inject({ path: '/who', headers })
    return status === 200 ? body.sub : `${status} ${text.includes('"code":"UNAUTHORIZED"') ? 'UNAUTHORIZED' : body.code}`
  }

  it('are accepted beside the tokens of the app, and a request has only one user', () =>
    withHost(async (host) => {
      const { token } = await host.service(tokensService).issue({ sub: 'own' })
      for (const [headers, expected] of [
        [{ 'x-key': 'key-ada' }, 'ada'],
        [{ authorization: 'Bearer key-bob' }, 'bob'],
        [{ authorization: `Bearer ${token}`, 'x-key': 'key-ada' }, 'own'],
        [{ authorization: 'Bearer key-bob', 'x-key': 'key-ada' }, 'bob'],
        [{ authorization: 'Basic eDp5', 'x-key': 'key-ada' }, 'ada'],
        [{ authorization: `Bearer ${token}x`, 'x-key': 'key-ada' }, '401 UNAUTHORIZED'],
        [{ authorization: 'Bearer', 'x-key': 'key-ada' }, '401 UNAUTHORIZED'],
        [{ authorization: 'Bearer x y', 'x-key': 'key-ada' }, '401 UNAUTHORIZED'],
        [{ 'x-key': 'other' }, '401 UNAUTHORIZED'],
        [{ 'x-key': 'broken' }, '503 AUTH_STORE_UNAVAILABLE'],
        [{}, '401 UNAUTHORIZED'],
      ] as const)
        assert.equal(await get(host, headers), expected, JSON.stringify(headers))
      assert.match(host.logText(), /key: the key is unknown/)
    }))

  it('end with the revocations of their user and id, unless their own store ends them', () =>
    withHost(async (host, ended) => {
      const tokens = host.service(tokensService)
      await tokens.revokeUser('ada')
      await tokens.revoke(claimsOf('bob'))
      assert.equal(await get(host, { authorization: 'Bearer key-ada' }), '401 UNAUTHORIZED')
      assert.equal(await get(host, { authorization: 'Bearer key-bob' }), '401 UNAUTHORIZED')
      assert.equal(await get(host, { authorization: 'Bearer key-eve' }), 'eve')
      assert.equal(await get(host, { 'x-key': 'key-ada' }), 'ada')
      assert.deepEqual(ended, ['ada'])
      await assert.rejects(tokens.revokeUser('stuck'), { code: 'ZIN_HOOK_FAILED' })
    }))

  it('appear in OpenAPI as an alternative', () =>
    withHost(async (host) => {
      const { paths } = host.host.http.openapi() as { paths: Record<string, { get: { security: object } }> }
      assert.deepEqual(paths['/who']?.get.security, [{ bearer: [] }, { key: [] }])
    }))

  it('are no longer accepted once their plugin stops', () =>
    withHost(async (host) => {
      await host.disable('api-keys')
      assert.equal(await get(host, { 'x-key': 'key-ada' }), '401 UNAUTHORIZED')
    }))
})
