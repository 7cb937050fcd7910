import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { attachUser, definePlugin, defineRoute, type Plugin, type PluginContext, type Responders, requestContext } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { type Kv, kv, kvService } from 'zin/plugins/kv'
import { createTestHost, describePlugin, fakeClock, type TestHost } from 'zin/testing'

const env = { JWT_SECRET: 'a-secret-of-at-least-thirty-two-bytes', APP_NAME: 'shop' }

const whoAmI = defineRoute({
  method: 'GET',
  path: '/who',
  summary: 'The user of the request',
  use: ['auth'],
  handler: (ctx) => ({
    request: ctx.request.user.email,
    state: ctx.state.user.email,
    context: requestContext()?.userId,
  }),
})

/** The real kv on SQLite; records which keys are read together. */
function makeKv() {
  const reads: (readonly string[])[] = []
  const noted = (store: Kv): Kv => ({
    ...store,
    getMany(keys) {
      reads.push(keys)
      return store.getMany(keys)
    },
  })
  const setup = (ctx: PluginContext): unknown =>
    kv.spec.setup?.({
      ...ctx,
      provide: (ref, service) => ctx.provide(ref, ref.id === kvService.id ? (noted(service as Kv) as typeof service) : service),
    })
  return { reads, plugins: [database(), definePlugin({ ...kv.spec, setup: setup as never })()] }
}

/** A guard that replaces `auth`, accepts and counts every request; and a middleware that does nothing. */
function makeReader() {
  const state = { ran: 0 }
  const plugin = definePlugin({
    name: 'some-reader',
    version: '1.0.0',
    uses: { tokens: tokensService },
    setup(ctx) {
      ctx.middleware({
        key: 'reader',
        replaces: 'auth',
        state: ['user'],
        handler(request, next) {
          state.ran += 1
          attachUser(request, { sub: 'reader' })
          return next()
        },
      })
      ctx.middleware({ key: 'between', handler: (_ctx, next) => next() })
    },
  })
  const route = (path: string, use: readonly string[]) =>
    defineRoute({ method: 'GET', path, summary: 'Says ok', use, handler: () => ({ ok: true }) })
  return {
    state,
    plugin: plugin(),
    routes: [
      route('/both', ['auth', 'reader']),
      route('/turned', ['reader', 'auth']),
      route('/between', ['auth', 'between', 'reader']),
      route('/only-auth', ['auth']),
    ],
  }
}

async function withHost(
  test: (host: TestHost) => Promise<void>,
  given: { plugins?: Plugin[]; routes?: readonly (typeof whoAmI)[]; responders?: Responders } = {},
) {
  const { plugins = [], routes = [whoAmI], ...rest } = given
  const host = await createTestHost({ plugins: [...plugins, jwt()], routes, env, clock: fakeClock(), ...rest })
  try {
    await test(host)
  } finally {
    await host.stop()
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const refusal = '{"error":"Unauthorized","message":"Unauthorized","code":"UNAUTHORIZED","reason":"unauthorized"}'

describe('the middleware key auth', () => {
  it('accepts a valid token and attaches its claims to request, state and request context', () =>
    withHost(async (host) => {
      const { token } = await host.service(tokensService).issue({ sub: 7, email: 'a@b.c' })
      const response = await host.inject({ path: '/who', headers: bearer(token) })
      assert.deepEqual([response.status, response.body], [200, { request: 'a@b.c', state: 'a@b.c', context: '7' }])
      assert.equal((await host.inject({ path: '/who', headers: { authorization: `bearer ${token}` } })).status, 200)
    }))

  it('responds to every invalid request with the same 401', () =>
    withHost(async (host) => {
      const tokens = host.service(tokensService)
      const good = await tokens.issue({ sub: 'u1' })
      const revoked = await tokens.issue({ sub: 'u1' })
      await tokens.revoke(revoked.claims)
      const cases = {
        'no header': undefined,
        'an empty one': '',
        'another scheme': `Basic ${good.token}`,
        'no token': 'Bearer',
        'two tokens': `Bearer ${good.token} ${good.token}`,
        'a comma': `Bearer ${good.token},`,
        'any text': 'Bearer x',
        'three dots': 'Bearer ...',
        'a changed signature': `Bearer ${good.token.slice(0, -2)}xx`,
        'a revoked token': `Bearer ${revoked.token}`,
      }
      for (const [what, authorization] of Object.entries(cases)) {
        const { status, text, headers } = await host.inject({ path: '/who', headers: { authorization } })
        assert.deepEqual([status, text, headers['www-authenticate'], headers['cache-control']], [401, refusal, 'Bearer', 'no-store'], what)
      }
      assert.equal((await host.inject({ path: '/who', headers: bearer(good.token) })).status, 200)
      assert.ok(!host.logText().includes(good.token))
    }))

  it('S3: uses the app name as issuer and audience, so that tokens of another app with the same secret are refused', () =>
    withHost(async (host) => {
      const other = await createTestHost({ plugins: [jwt()], env: { ...env, APP_NAME: 'bank' }, clock: fakeClock() })
      const { token, claims } = await other.service(tokensService).issue({ sub: 'u1' })
      assert.deepEqual([claims.iss, claims.aud], ['bank', 'bank'])
      assert.equal((await host.inject({ path: '/who', headers: bearer(token) })).status, 401)
      await other.stop()
    }))

  it('uses the body of responders.auth for refusals, and keeps status and challenge', () =>
    withHost(
      async (host) => {
        const { status, body, headers } = await host.inject({ path: '/who' })
        assert.deepEqual([status, body, headers['www-authenticate']], [401, { no: 'unauthorized' }, 'Bearer'])
      },
      { responders: { auth: (_ctx, reason) => ({ no: reason }) } },
    ))
})

describe('revocation', () => {
  it('S24: reads the store once per request, and stores revocations in it', async () => {
    const store = makeKv()
    await withHost(
      async (host) => {
        const tokens = host.service(tokensService)
        const { token, claims } = await tokens.issue({ sub: 'u1' })
        assert.equal((await host.inject({ path: '/who', headers: bearer(token) })).status, 200)
        assert.deepEqual(store.reads, [['since', `jwt:revoked:${claims.jti}`, 'jwt:epoch:u1']])
        await tokens.revoke(claims)
        assert.notEqual(await host.service(kvService).get(`jwt:revoked:${claims.jti}`), null)
        assert.equal((await host.inject({ path: '/who', headers: bearer(token) })).status, 401)
      },
      { plugins: store.plugins },
    )
  })

  it('treats a token as revoked when the values read are too few or not a time', async () => {
    const store = makeKv()
    await withHost(
      async (host) => {
        const tokens = host.service(tokensService)
        const { claims } = await tokens.issue({ sub: 'u1' })
        assert.deepEqual(
          [[], ['1'], ['1', null], ['1', null, 'soon'], ['soon', null, null], ['1', null, null]].map((values) =>
            tokens.isRevokedBy(claims, values),
          ),
          [true, true, true, true, true, false],
        )
        assert.equal(tokens.revocationKeys(claims).length, 3)
      },
      { plugins: store.plugins },
    )
  })

  it('does not read the store for an invalid token', async () => {
    const store = makeKv()
    await withHost(
      async (host) => {
        assert.equal((await host.inject({ path: '/who', headers: bearer('a.b.c') })).status, 401)
        assert.deepEqual(store.reads, [])
      },
      { plugins: store.plugins },
    )
  })

  it('responds 503 with Retry-After while the store is down, never 200 or 401', async () => {
    const store = makeKv()
    await withHost(
      async (host) => {
        const { token } = await host.service(tokensService).issue({ sub: 'u1' })
        await host.service(databaseService).tables().schema.dropTable('zin_kv').execute()
        const { status, body, headers } = await host.inject({ path: '/who', headers: bearer(token) })
        assert.deepEqual([status, body.code, headers['retry-after']], [503, 'AUTH_STORE_UNAVAILABLE', '2'])
      },
      { plugins: store.plugins },
    )
  })

  it('responds 503 once the kv plugin is disabled: revocations are not ignored', async () => {
    const store = makeKv()
    await withHost(
      async (host) => {
        const { token } = await host.service(tokensService).issue({ sub: 'u1' })
        await host.disable('kv')
        assert.equal((await host.inject({ path: '/who', headers: bearer(token) })).status, 503)
      },
      { plugins: store.plugins },
    )
  })

  it('does not run auth only on a route where its replacement follows directly', async () => {
    const [store, reader] = [makeKv(), makeReader()]
    await withHost(
      async (host) => {
        const { token } = await host.service(tokensService).issue({ sub: 'u1' })
        const readsOf = async (path: string): Promise<number> => {
          store.reads.length = 0
          assert.equal((await host.inject({ path, headers: bearer(token) })).status, 200)
          return store.reads.length
        }
        assert.equal(await readsOf('/both'), 0)
        assert.equal(await readsOf('/turned'), 1)
        assert.equal(await readsOf('/between'), 1)
        assert.equal(await readsOf('/only-auth'), 1)
        const ran = reader.state.ran
        for (const path of ['/between', '/only-auth']) assert.equal((await host.inject({ path })).status, 401)
        assert.equal(reader.state.ran, ran)
        assert.equal((await host.inject({ path: '/both' })).status, 200)
        await assert.rejects(host.disable('some-reader'), { code: 'ZIN_PLUGIN_IN_USE' })
      },
      { plugins: [...store.plugins, reader.plugin], routes: reader.routes },
    )
  })

  it('uses the responder of the replacement that follows, so that both refusals are the same', async () => {
    const reader = makeReader()
    await withHost(
      async (host) => {
        assert.deepEqual((await host.inject({ path: '/between' })).body, { from: 'reader' })
        assert.deepEqual((await host.inject({ path: '/only-auth' })).text, refusal)
      },
      { plugins: [reader.plugin], routes: reader.routes, responders: { reader: () => ({ from: 'reader' }) } },
    )
  })
})

describe('the boot of the plugin jwt', () => {
  const boot = async (own: Record<string, string>, options = {}): Promise<TestHost> => createTestHost({ plugins: [jwt(options)], env: own })

  it('stops in production without a key of 32 bytes', async () => {
    await assert.rejects(boot({ NODE_ENV: 'production' }), /JWT_SECRET or APP_KEY/)
    await assert.rejects(
      boot({ NODE_ENV: 'production', JWT_SECRET: 'short-secret' }),
      (error: Error) => /12 bytes/.test(error.message) && !error.message.includes('short-secret'),
    )
  })

  it('warns outside of production when it generates a key, and in production when revocations stay in the process', async () => {
    const made = await boot({})
    assert.match(made.logText(), /neither JWT_SECRET nor APP_KEY is set/)
    await made.stop()
    const alone = await boot({ NODE_ENV: 'production', APP_KEY: 'x'.repeat(32) })
    assert.match(alone.logText(), /token revocations apply to this process only/)
    await alone.stop()
  })

  it('stops when the lifetime of tokens exceeds the maximum', async () => {
    await assert.rejects(boot({ JWT_EXPIRES_IN: '7200' }, { maxLifetimeSeconds: 3600 }), /7200 s; the maximum is 3600 s/)
  })

  it('prefers options to settings', async () => {
    const host = await boot({ ...env, JWT_ISSUER: 'setting', JWT_AUDIENCE: 'setting' }, { issuer: 'option', expiresInSeconds: 5 })
    const { claims } = await host.service(tokensService).issue({})
    assert.deepEqual([claims.iss, claims.aud, claims.exp - claims.iat], ['option', 'setting', 5])
    await host.stop()
  })
})

describePlugin(() => [], jwt, { readme: new URL('./README.md', import.meta.url), env })
