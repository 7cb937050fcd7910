import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { defineRoute } from 'zin'
import { jwks } from 'zin/plugins/jwks'
import { jwt, role, tokensService } from 'zin/plugins/jwt'
import { createTestHost, describePlugin, fakeClock, type TestHost } from 'zin/testing'
import type { JwksOptions } from './options.js'
import { identityProvider, newKey, type SigningKey } from './testing/identity-provider.js'

const env = { JWT_SECRET: 's'.repeat(32), APP_NAME: 'shop' }
const routes = [
  defineRoute({ method: 'GET', path: '/who', summary: 'Who', use: ['auth'], handler: ({ request }) => request.user }),
  defineRoute({ method: 'GET', path: '/admin', summary: 'Admin', use: ['auth', role('admin')], handler: () => ({ ok: true }) }),
]

describe('tokens of other issuers', () => {
  let provider: Awaited<ReturnType<typeof identityProvider>>
  let key: SigningKey
  const clock = fakeClock(Date.now())
  before(async () => {
    provider = await identityProvider()
    key = await newKey('RS256')
  })
  after(() => provider.stop())
  beforeEach(() => {
    provider.state.keys = [key.publicJwk]
    provider.state.asked = []
    provider.state.answer = undefined
    provider.state.discovery = {}
  })

  const base = (more: Readonly<Record<string, unknown>> = {}) => {
    const iat = Math.floor(clock.now() / 1000)
    return { iss: provider.issuer, aud: 'api', sub: 'ada', iat, exp: iat + 300, ...more }
  }
  const get = async (host: TestHost, token: string, path = '/who') => {
    const { status, body } = await host.inject({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } })
    return status === 200 ? (body.sub ?? 'ok') : `${status} ${body.code}`
  }
  const refused = '401 UNAUTHORIZED'
  async function withHost(test: (host: TestHost) => Promise<void>, options: Partial<JwksOptions> = {}, issuer: object = {}) {
    const issuers = [{ issuer: provider.issuer, audience: 'api', algorithms: ['RS256' as const], ...issuer }]
    const host = await createTestHost({
      plugins: [jwt(), jwks({ issuers, allowPrivate: true, ...options })],
      routes,
      env,
      clock,
    })
    try {
      await test(host)
    } finally {
      await host.stop()
    }
  }

  it('are accepted beside those of the app, by discovery, with one fetch for many requests', () =>
    withHost(async (host) => {
      const own = await host.service(tokensService).issue({ sub: 'own' })
      const token = await key.sign(base({ email: 'ada@example.com' }))
      const results = await Promise.all(Array.from({ length: 20 }, () => get(host, token)))
      assert.deepEqual([...new Set(results)], ['ada'])
      assert.equal(await get(host, own.token), 'own')
      assert.equal(await get(host, await key.sign(base({ sub: 'bob' }))), 'bob')
      assert.deepEqual(provider.state.asked, ['/.well-known/openid-configuration', '/keys'])
      const { body } = await host.inject({ method: 'GET', path: '/who', headers: { authorization: `Bearer ${token}` } })
      assert.deepEqual([body.email, body.iss, body.aud], ['ada@example.com', provider.issuer, 'api'])
    }))

  it('fetch the keys from jwksUrl without discovery', () =>
    withHost(
      async (host) => {
        assert.equal(await get(host, await key.sign(base({ iss: 'any-text' }))), 'ada')
        assert.deepEqual(provider.state.asked, ['/keys'])
      },
      {},
      { issuer: 'any-text', jwksUrl: `${provider.issuer}/keys` },
    ))

  it('are refused unless issuer, audience, algorithm, times and lifetime are exact', () =>
    withHost(async (host) => {
      const now = Math.floor(clock.now() / 1000)
      const accepted = {
        'aud as a list': { aud: ['other', 'api'] },
        'nbf in 60 s': { nbf: now + 60 },
        'iat in 60 s': { iat: now + 60, exp: now + 90 },
      }
      for (const [what, claims] of Object.entries(accepted)) assert.equal(await get(host, await key.sign(base(claims))), 'ada', what)
      const wrong = {
        'another issuer': { iss: 'https://evil.example' },
        'the issuer with a slash': { iss: `${provider.issuer}/` },
        'the issuer in a list': { iss: [provider.issuer] },
        'another audience': { aud: 'apis' },
        'no audience': { aud: undefined },
        'an expired token': { iat: now - 300, exp: now },
        'no expiry': { exp: undefined },
        'no iat': { iat: undefined },
        'an iat ahead': { iat: now + 61, exp: now + 90 },
        'an nbf ahead': { nbf: now + 61 },
        'a lifetime of more than a day': { exp: now + 86_401 },
        'a subject that is an object': { sub: { id: 1 } },
        'a jti that is too long': { jti: 'x'.repeat(129) },
      }
      for (const [what, claims] of Object.entries(wrong))
        assert.equal(await get(host, await key.sign(base(claims) as never)), refused, what)
    }))

  it('are refused with another algorithm: none, a secret that is the public key, or one that is not listed', async () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const other = await newKey('ES256', key.kid)
    await withHost(async (host) => {
      provider.state.keys = [key.publicJwk, other.publicJwk, { kty: 'oct', k: part('secret'), kid: 'shared', alg: 'HS256' }]
      const hs = (header: object, secret: string) => {
        const text = `${part(header)}.${part(base())}`
        return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
      }
      const bad = [
        `${part({ alg: 'none' })}.${part(base())}.`,
        `${part({ alg: 'none', kid: key.kid })}.${part(base())}.x`,
        hs({ alg: 'HS256', kid: key.kid }, JSON.stringify(key.publicJwk)),
        hs({ alg: 'HS256', kid: 'shared' }, 'secret'),
        hs({ alg: 'RS256', kid: 'shared' }, 'secret'),
        await other.sign(base()),
        await key.sign(base(), { crit: ['x'], x: 1 } as never).catch(() => 'x.y.z'),
        (await key.sign(base())).slice(0, -3),
        `${await key.sign(base())}.x`,
      ]
      for (const token of bad) assert.equal(await get(host, token), refused, token)
    })
  })

  it('wait for one fetch when a key is unknown, at most once per cooldown', () =>
    withHost(async (host) => {
      assert.equal(await get(host, await key.sign(base())), 'ada')
      const next = await newKey('RS256')
      provider.state.keys = [key.publicJwk, next.publicJwk]
      provider.state.asked = []
      assert.equal(await get(host, await next.sign(base())), refused)
      assert.deepEqual(provider.state.asked, [])
      clock.advance(30_000)
      const tokens = await Promise.all(Array.from({ length: 10 }, () => next.sign(base({ jti: randomUUID() }))))
      assert.deepEqual([...new Set(await Promise.all(tokens.map((token) => get(host, token))))], ['ada'])
      assert.equal(provider.state.asked.length, 2)
      const unknown = await newKey('RS256')
      for (let turn = 0; turn < 5; turn += 1) assert.equal(await get(host, await unknown.sign(base())), refused)
      assert.equal(provider.state.asked.length, 2)
    }))

  it('without a kid are verified by whichever key of the algorithm signed them, also by one that is published later', () =>
    withHost(async (host) => {
      const [other, es, next] = await Promise.all([newKey('RS256'), newKey('ES256'), newKey('RS256')])
      const { kid: _, ...nameless } = key.publicJwk
      provider.state.keys = [other.publicJwk, es.publicJwk, nameless]
      const without = { kid: undefined }
      assert.equal(await get(host, await key.sign(base(), without)), 'ada')
      assert.equal(await get(host, await other.sign(base({ sub: 'bob' }), without)), 'bob')
      assert.equal(await get(host, await next.sign(base(), without)), refused)
      provider.state.keys = [other.publicJwk, next.publicJwk]
      clock.advance(30_000)
      assert.equal(await get(host, await next.sign(base(), without)), 'ada')
    }))

  it('are refused when the key that they name is malformed or weak, and accepted beside such keys', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const ed = await newKey('EdDSA')
    const unreadable: Readonly<Record<string, readonly [alg: 'RS256' | 'ES256' | 'EdDSA', key: object]>> = {
      'an RSA key of 1024 bits': ['RS256', publicKey.export({ format: 'jwk' })],
      'an RSA key without a modulus': ['RS256', { kty: 'RSA', e: 'AQAB' }],
      'a point off the curve': ['ES256', { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }],
      'an Ed25519 key of one byte': ['EdDSA', { kty: 'OKP', crv: 'Ed25519', x: 'AA' }],
      'an x that is no text': ['EdDSA', { kty: 'OKP', crv: 'Ed25519', x: 7 }],
    }
    const good = { RS256: key, ES256: await newKey('ES256'), EdDSA: ed }
    const keys = Object.entries(unreadable).map(([kid, [alg, jwk]]) => ({ ...jwk, kid, alg, use: 'sig' }))
    provider.state.keys = [...keys, ...Object.values(good).map(({ publicJwk }) => publicJwk)]
    await withHost(
      async (host) => {
        for (const [kid, [alg]] of Object.entries(unreadable)) {
          assert.equal(await get(host, await good[alg].sign(base(), { kid })), refused, kid)
          assert.equal(await get(host, await good[alg].sign(base(), { kid: undefined })), 'ada', kid)
        }
      },
      {},
      { algorithms: ['RS256', 'ES256', 'EdDSA'] },
    )
  })

  it('of an issuer with a final slash are accepted, by discovery without a double slash', async () => {
    const issuer = `${provider.issuer}/`
    provider.state.discovery = { issuer }
    await withHost(
      async (host) => {
        assert.equal(await get(host, await key.sign(base({ iss: issuer }))), 'ada')
        assert.equal(await get(host, await key.sign(base())), refused)
        assert.deepEqual(provider.state.asked, ['/.well-known/openid-configuration', '/keys'])
      },
      {},
      { issuer },
    )
  })

  it('are verified by the key of their algorithm if several have the same kid, and never by a key with another alg', () =>
    withHost(
      async (host) => {
        const es = await newKey('ES256', key.kid)
        provider.state.keys = [{ ...key.publicJwk, alg: 'PS256' }, es.publicJwk]
        assert.equal(await get(host, await es.sign(base())), 'ada')
        assert.equal(await get(host, await key.sign(base())), refused)
      },
      {},
      { algorithms: ['RS256', 'ES256', 'PS256'] },
    ))

  it('are no longer accepted once their key is withdrawn, although they were accepted before', () =>
    withHost(async (host) => {
      const token = await key.sign(base({ exp: Math.floor(clock.now() / 1000) + 3_600 }))
      assert.equal(await get(host, token), 'ada')
      const next = await newKey('RS256')
      provider.state.keys = [next.publicJwk]
      clock.advance(600_000)
      assert.equal(await get(host, await next.sign(base({ sub: 'bob' }))), 'bob')
      assert.equal(await get(host, token), refused)
    }))

  it('are accepted with old keys while the issuer is down, for a limited time, and then get a 503', () =>
    withHost(async (host) => {
      assert.equal(await get(host, await key.sign(base())), 'ada')
      provider.state.answer = (_path, response) => Boolean(response.writeHead(500).end()) || true
      for (const hours of [1, 12, 10]) {
        clock.advance(hours * 3_600_000)
        assert.equal(await get(host, await key.sign(base())), 'ada')
      }
      clock.advance(2 * 3_600_000)
      assert.equal(await get(host, await key.sign(base())), '503 JWKS_UNAVAILABLE')
      provider.state.answer = undefined
      clock.advance(30_000)
      assert.equal(await get(host, await key.sign(base())), 'ada')
    }))

  const faults: Readonly<Record<string, (path: string, response: import('node:http').ServerResponse) => boolean>> = {
    'a response that is too large': (_path, response) => Boolean(response.writeHead(200).end(`{"keys":"${'x'.repeat(300_000)}"}`)),
    'no JSON': (_path, response) => Boolean(response.writeHead(200).end('<html>')),
    'no object': (_path, response) => Boolean(response.writeHead(200).end('[]')),
    'another status': (_path, response) => Boolean(response.writeHead(404).end('{}')),
    'a redirect': (path, response) => path !== '/other' && Boolean(response.writeHead(302, { location: '/other' }).end()),
    silence: () => true,
    'an endless response': (_path, response) => {
      const timer = setInterval(() => response.write(' '), 5)
      response.on('close', () => clearInterval(timer))
      return true
    },
    'the discovery of another issuer': (path, response) =>
      path.startsWith('/.well') && Boolean(response.end(JSON.stringify({ issuer: 'https://other', jwks_uri: `${provider.issuer}/keys` }))),
    'keys at an address that is not allowed': (path, response) =>
      path.startsWith('/.well') &&
      Boolean(response.end(JSON.stringify({ issuer: provider.issuer, jwks_uri: 'http://169.254.169.254/keys' }))),
    'keys in a file': (path, response) =>
      path.startsWith('/.well') && Boolean(response.end(JSON.stringify({ issuer: provider.issuer, jwks_uri: 'file:///etc/passwd' }))),
    'only secrets': (path, response) =>
      path === '/keys' && Boolean(response.end(JSON.stringify({ keys: [{ kty: 'oct', k: 'eA', alg: 'HS256' }] }))),
    'too many keys': (path, response) =>
      path === '/keys' && Boolean(response.end(JSON.stringify({ keys: Array.from({ length: 101 }, () => key.publicJwk) }))),
  }
  for (const [what, answer] of Object.entries(faults))
    it(`get a 503, and no further fetch within the cooldown, when the issuer sends ${what}`, () =>
      withHost(
        async (host) => {
          provider.state.answer = answer
          assert.equal(await get(host, await key.sign(base())), '503 JWKS_UNAVAILABLE')
          const asked = provider.state.asked.length
          assert.equal(await get(host, await key.sign(base())), '503 JWKS_UNAVAILABLE')
          assert.equal(provider.state.asked.length, asked)
          assert.equal(await get(host, 'x.y.z'), refused)
        },
        { timeoutMs: 300 },
      ))

  it('end with the revocations of the app, also without a jti', () =>
    withHost(async (host) => {
      const tokens = host.service(tokensService)
      const [one, two] = [await key.sign(base({ jti: 'one' })), await key.sign(base({ sub: 'bob' }))]
      assert.deepEqual([await get(host, one), await get(host, two)], ['ada', 'bob'])
      const { body } = await host.inject({ method: 'GET', path: '/who', headers: { authorization: `Bearer ${two}` } })
      await tokens.revoke(body)
      assert.deepEqual([await get(host, one), await get(host, two)], ['ada', refused])
      await tokens.revokeUser('ada')
      assert.equal(await get(host, one), refused)
    }))

  it('have the role of the token, or the claims that mapClaims returns, but keep their registered claims', async () => {
    await withHost(async (host) => assert.equal(await get(host, await key.sign(base({ role: 'admin' })), '/admin'), 'ok'))
    const mapClaims = (claims: Readonly<Record<string, unknown>>) =>
      claims.sub === 'eve' ? undefined : { sub: `idp|${claims.sub}`, role: (claims.groups as string[])[0], exp: 9e9 }
    await withHost(
      async (host) => {
        assert.equal(await get(host, await key.sign(base({ role: 'admin', groups: ['user'] })), '/admin'), '403 ROLE_REQUIRED')
        assert.equal(await get(host, await key.sign(base({ groups: ['admin'] })), '/admin'), 'ok')
        assert.equal(await get(host, await key.sign(base({ groups: ['admin'] }))), 'idp|ada')
        assert.equal(await get(host, await key.sign(base({ sub: 'eve' }))), refused)
      },
      {},
      { mapClaims },
    )
  })

  for (const alg of ['RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const)
    it(`are accepted with ${alg}`, async () => {
      const own = await newKey(alg)
      provider.state.keys = [key.publicJwk, own.publicJwk]
      await withHost(async (host) => assert.equal(await get(host, await own.sign(base())), 'ada'), {}, { algorithms: [alg] })
    })

  it('stop the boot when an issuer cannot be used', async () => {
    const one = { issuer: provider.issuer, audience: 'api', algorithms: ['RS256'] }
    for (const [options, message] of [
      [{ issuers: [one] }, /only https: URLs/],
      [{ issuers: [{ ...one, issuer: 'text' }], allowPrivate: true }, /has no jwksUrl/],
      [{ issuers: [one, one], allowPrivate: true }, /is listed twice/],
      [{ issuers: [{ ...one, algorithms: ['HS256'] }], allowPrivate: true }, /algorithms/],
      [{ issuers: [{ ...one, algorithms: ['none'] }], allowPrivate: true }, /algorithms/],
      [{ issuers: [{ ...one, algorithms: [] }], allowPrivate: true }, /algorithms/],
      [{ issuers: [{ issuer: one.issuer, algorithms: ['RS256'] }], allowPrivate: true }, /audience/],
    ] as const)
      await assert.rejects(createTestHost({ plugins: [jwt(), jwks(options as never)], env }), { message })
  })
})

describePlugin(() => [jwt()], jwks, { readme: new URL('./README.md', import.meta.url), env })
