import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { defineRoute } from 'zin'
import { jwks } from 'zin/plugins/jwks'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { createTestHost, type TestHost } from 'zin/testing'

const pairs = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
} as const

function pem(algorithm: keyof typeof pairs) {
  const { privateKey, publicKey } = pairs[algorithm]()
  return {
    privateKey: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    publicKey: String(publicKey.export({ type: 'spki', format: 'pem' })),
  }
}

const who = defineRoute({
  method: 'GET',
  path: '/who',
  summary: 'Who',
  use: ['auth'],
  handler: ({ request }) => ({ sub: request.user.sub }),
})
const start = (env: Readonly<Record<string, string>>): Promise<TestHost> =>
  createTestHost({ plugins: [jwt(), jwks()], routes: [who], env: { APP_NAME: 'shop', ...env }, listen: true })

describe('the keys of the app', () => {
  for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const)
    it(`with ${algorithm} are published, and verify its tokens in another service, also during a rotation`, async () => {
      const [old, next] = [pem(algorithm), pem(algorithm)]
      const env = { JWT_ALGORITHM: algorithm }
      // The three steps of "Rotating keys".
      const before = await start({ ...env, JWT_PRIVATE_KEY: old.privateKey, JWT_PUBLIC_KEY_BK: JSON.stringify([next.publicKey]) })
      const after = await start({ ...env, JWT_PRIVATE_KEY: next.privateKey, JWT_PUBLIC_KEY_BK: JSON.stringify([old.publicKey]) })
      const end = await start({ ...env, JWT_PRIVATE_KEY: next.privateKey })
      try {
        const tokens = [before, after].map(async (host) => (await host.service(tokensService).issue({ sub: 'ada' })).token)
        const [first, second] = (await Promise.all(tokens)) as [string, string]
        for (const host of [before, after]) {
          const keys = createRemoteJWKSet(new URL(`${host.url}/.well-known/jwks.json`))
          for (const token of [first, second]) {
            const { payload, protectedHeader } = await jwtVerify(token, keys, { issuer: 'shop', audience: 'shop', algorithms: [algorithm] })
            assert.deepEqual([payload.sub, typeof protectedHeader.kid], ['ada', 'string'])
            assert.equal((await host.inject({ path: '/who', headers: { authorization: `Bearer ${token}` } })).status, 200)
          }
        }
        const status = async (token: string) => (await end.inject({ path: '/who', headers: { authorization: `Bearer ${token}` } })).status
        assert.deepEqual([await status(first), await status(second)], [401, 200])
        const { body, headers, text } = await after.inject({ path: '/.well-known/jwks.json' })
        assert.equal(headers['cache-control'], 'public, max-age=300')
        assert.deepEqual(
          body.keys.map((key: Record<string, unknown>) => [key.alg, key.use]),
          [
            [algorithm, 'sig'],
            [algorithm, 'sig'],
          ],
        )
        for (const member of ['"d"', '"p"', '"q"', '"k"']) assert.ok(!text.includes(member))
      } finally {
        for (const host of [before, after, end]) await host.stop()
      }
    })

  it('with HS256 are never published', async () => {
    const host = await start({ JWT_SECRET: 's'.repeat(32), JWT_SECRET_BK: JSON.stringify(['t'.repeat(32)]) })
    try {
      assert.deepEqual((await host.inject({ path: '/.well-known/jwks.json' })).body, { keys: [] })
    } finally {
      await host.stop()
    }
  })

  it('stop the boot when a key of JWT_PUBLIC_KEY_BK is private, of another kind or unreadable', async () => {
    const own = pem('ES256')
    for (const [key, message] of [
      [own.privateKey, /it is a private key/],
      [pem('EdDSA').publicKey, /P-256/],
      ['x', /JWT_PUBLIC_KEY_BK cannot be used: it is not a PEM key/],
    ] as const)
      await assert.rejects(
        start({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: own.privateKey, JWT_PUBLIC_KEY_BK: JSON.stringify([key]) }),
        (error: Error) => message.test(error.message) && !error.message.includes(own.privateKey.split('\n')[1] ?? '-'),
      )
  })
})
