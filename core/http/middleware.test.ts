import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Context, Next } from 'koa'
import { attachUser, defineMiddleware, definePlugin, type Plugin, type RouteMiddleware, refuse, type UseEntry } from 'zin'
import { createTestHost, type TestHost } from 'zin/testing'

const pass = (_ctx: Context, next: Next): unknown => next()
const bearer = { type: 'http', scheme: 'bearer' } as const

/** A plugin with these middleware. */
function guards(name: string, ...middleware: readonly unknown[]): Plugin {
  return definePlugin({
    name,
    version: '1.0.0',
    setup: (ctx) => middleware.forEach((one) => ctx.middleware(one as RouteMiddleware)),
  })()
}

const get = (path: string, use: readonly string[]) => ({ method: 'GET', path, summary: 'x', use, handler: () => ({ ok: true }) }) as const

async function withHost(options: Parameters<typeof createTestHost>[0], test: (host: TestHost) => Promise<void>): Promise<void> {
  const host = await createTestHost(options)
  try {
    await test(host)
  } finally {
    await host.stop()
  }
}

describe('an invalid middleware declaration stops the boot with the plugin, the field and the fix', () => {
  const good = { key: 'own', handler: pass }
  const wrong: readonly (readonly [what: string, declared: unknown, message: RegExp])[] = [
    ['no object', 'own', /"mine" registers an invalid middleware: it must be an object such as \{ key, handler \}, not a string/],
    ['an unknown field', { ...good, replace: 'auth' }, /"mine" .* "own": "replace" is not a known field; did you mean "replaces"\?/],
    ['a key with a space', { ...good, key: 'a b' }, /"key" must be 1 to 64 letters/],
    ['no key', { handler: pass }, /"key" must be/],
    ['no handler', { key: 'own' }, /"handler" must be a function \(ctx, next\) => …, not nothing/],
    ['security that is no list', { ...good, security: { bearer } }, /"security" must be a non-empty list of objects such as/],
    ['no security at all', { ...good, security: [] }, /"security" must be a non-empty list of objects/],
    [
      'a scheme of an unknown type',
      { ...good, security: [{ a: { type: 'basic' } }] },
      /"security\[0\]\.a" must have a type: http, apiKey, /,
    ],
    [
      'a scheme without its place',
      { ...good, security: [{ bearer }, { a: { type: 'apiKey', in: 'body', name: 'x' } }] },
      /"security\[1\]\.a" needs "in": "header", "query" or "cookie"/,
    ],
    [
      'a scheme with a bad name',
      { ...good, security: [{ 'a b': bearer }] },
      /"security\[0\]" has the invalid scheme name "a b"; use letters/,
    ],
    ['state that is no list', { ...good, state: 'user' }, /"state" must be a list of unique field names/],
    ['a field twice', { ...good, state: ['user', 'user'] }, /"state" must be a list of unique field names/],
    ['replaces that is no key', { ...good, replaces: 1 }, /"replaces" must be the key of another middleware/],
    ['itself as replaced', { ...good, replaces: 'own' }, /"replaces" is its own key/],
    ['an unknown key to replace', { ...good, replaces: 'auht' }, /middleware "own" of plugin "mine": its "replaces" is "auht".*"auth"\?/],
    [
      'an absent key to replace',
      { ...good, replaces: 'session' },
      /"session", a key that no plugin registers; enable the plugin that registers it/,
    ],
    [
      'state left out',
      { ...good, replaces: 'auth' },
      /middleware "own" of plugin "mine": it replaces "auth" without its state user; set that/,
    ],
    [
      'another scheme of the same name',
      { ...good, security: [{ bearer: { ...bearer, bearerFormat: 'JWT' } }] },
      /plugin "mine": its security scheme "bearer" differs from the one of plugin "first"; rename one/,
    ],
    [
      'a key that is taken',
      { ...good, key: 'auth' },
      /"mine" registers the middleware key "auth", which belongs to plugin "first"; rename/,
    ],
  ]
  const first = guards('first', { key: 'auth', handler: pass, state: ['user'], security: [{ bearer }] })
  for (const [what, declared, message] of wrong) {
    it(what, () => assert.rejects(createTestHost({ plugins: [first, guards('mine', declared)] }), message))
  }
})

describe('a middleware that replaces another', () => {
  const state = { ran: [] as string[] }
  const guard = (key: string, replaces?: string) => ({
    ...defineMiddleware({
      key,
      handler(ctx, next) {
        state.ran.push(key)
        if (ctx.get('x-deny') === key) return refuse(ctx, key, 'Test')
        return next()
      },
    }),
    ...(replaces === undefined ? {} : { replaces }),
  })
  const plugins = [guards('weak', guard('token')), guards('strong', guard('signed', 'token'), guard('between'))]
  const routes = [
    get('/both', ['token', 'signed']),
    get('/turned', ['signed', 'token']),
    get('/between', ['token', 'between', 'signed']),
    get('/one', ['token']),
  ]

  it('runs alone if it directly follows the other; otherwise both run, so that nothing handles an unchecked request', () =>
    withHost({ plugins, routes }, async (host) => {
      const runsOf = async (path: string): Promise<readonly string[]> => {
        state.ran = []
        assert.equal((await host.inject({ path })).status, 200)
        return state.ran
      }
      assert.deepEqual(await runsOf('/both'), ['signed'])
      assert.deepEqual(await runsOf('/turned'), ['signed', 'token'])
      assert.deepEqual(await runsOf('/between'), ['token', 'between', 'signed'])
      assert.deepEqual(await runsOf('/one'), ['token'])
    }))

  it('cannot be disabled while routes list it, nor can the one it replaces', () =>
    withHost({ plugins, routes: [get('/both', ['token', 'signed'])] }, async (host) => {
      for (const plugin of ['strong', 'weak']) await assert.rejects(host.disable(plugin), { code: 'ZIN_PLUGIN_IN_USE' })
      state.ran = []
      assert.equal((await host.inject({ path: '/both', headers: { 'x-deny': 'signed' } })).status, 401)
      assert.deepEqual(state.ran, ['signed'])
    }))

  it('prevents disabling the plugin of the one it replaces, and can be disabled itself', () =>
    withHost({ plugins }, async (host) => {
      await assert.rejects(host.disable('weak'), { code: 'ZIN_PLUGIN_IN_USE' })
      await host.disable('strong')
      await host.disable('weak')
    }))

  it('stops the boot if a responder has a key that no middleware has', async () => {
    const boot = (key: string) => withHost({ plugins, routes, responders: { [key]: () => ({}) } }, async () => undefined)
    await assert.rejects(boot('singed'), {
      message: /"responders\.singed": no middleware has the key "singed"; did you mean "responders\.signed"\?/,
    })
    await assert.rejects(boot('unrelated-key'), { message: /known keys: .*token/ })
  })

  it('also uses its responder for the one it replaces, so that a client cannot tell which of the two refused', () =>
    withHost({ plugins, routes, responders: { signed: (_ctx, reason) => ({ signed: reason }) } }, async (host) => {
      const refusal = async (path: string, key: string) => {
        const { status, body, headers } = await host.inject({ path, headers: { 'x-deny': key } })
        return [status, body.signed ?? body.reason, headers['www-authenticate'], headers['cache-control']]
      }
      const own = [401, 'unauthorized', 'Test', 'no-store']
      assert.deepEqual(await refusal('/between', 'token'), own)
      assert.deepEqual((await host.inject({ path: '/between', headers: { 'x-deny': 'token' } })).body, { signed: 'unauthorized' })
      assert.deepEqual((await host.inject({ path: '/between', headers: { 'x-deny': 'signed' } })).body, { signed: 'unauthorized' })
      assert.deepEqual(
        (await host.inject({ path: '/one', headers: { 'x-deny': 'token' } })).text,
        '{"error":"Unauthorized","message":"Unauthorized","code":"UNAUTHORIZED","reason":"unauthorized"}',
      )
    }))
})

describe('the state of a middleware', () => {
  it('is set in the handler; otherwise the request ends with 500 and never reaches it', () => {
    let handled = 0
    const plugin = guards('users', {
      key: 'user',
      state: ['user'],
      handler(ctx: Context, next: Next) {
        if (ctx.get('x-user') !== '') attachUser(ctx, { sub: ctx.get('x-user') })
        return next()
      },
    })
    const route = { ...get('/me', ['user']), handler: (ctx: Context) => (handled++, { state: ctx.state.user.sub }) }
    return withHost({ plugins: [plugin], routes: [route] }, async (host) => {
      assert.deepEqual((await host.inject({ path: '/me', headers: { 'x-user': 'ada' } })).body, { state: 'ada' })
      const { status, body } = await host.inject({ path: '/me' })
      assert.deepEqual([status, body.code, handled], [500, 'MIDDLEWARE_STATE_MISSING', 1])
      assert.match(body.message, /"user" of plugin "users" called next\(\) without setting ctx\.state\.user/)
    })
  })
})

describe('a middleware that a route lists itself', () => {
  const mark = (key: string, text: string) =>
    defineMiddleware({
      key,
      security: [{ [key]: bearer }],
      handler: (ctx, next) => {
        ctx.set('x-marks', `${ctx.response.get('x-marks') || ''}${text}`)
        return next()
      },
    })
  const listing = (path: string, use: readonly UseEntry[]) =>
    ({ method: 'GET', path, summary: 'x', use, handler: () => ({ ok: true }) }) as const

  it('runs in its place, may share its key with others, and appears in OpenAPI and the list of routes', () =>
    withHost(
      {
        plugins: [guards('a', mark('first', 'a'))],
        routes: [listing('/both', ['first', mark('own', 'b'), mark('own', 'c')]), listing('/one', [mark('first', 'd')])],
      },
      async (host) => {
        const marks = async (path: string) => (await host.inject({ method: 'GET', path })).headers['x-marks']
        assert.deepEqual([await marks('/both'), await marks('/one')], ['abc', 'd'])
        const row = host.host.http.routes().find(({ path }) => path === '/both')
        assert.deepEqual(row?.use, ['first', 'own', 'own'])
        const { paths } = host.host.http.openapi() as { paths: Record<string, { get: Record<string, unknown> }> }
        assert.deepEqual(paths['/both']?.get.security, [{ first: [], own: [] }])
        assert.deepEqual(paths['/both']?.get['x-middleware'], ['first', 'own', 'own'])
      },
    ))

  it('can replace the one before it', () =>
    withHost(
      { plugins: [guards('a', mark('first', 'a'))], routes: [listing('/x', ['first', { ...mark('own', 'b'), replaces: 'first' }])] },
      async (host) => assert.equal((await host.inject({ method: 'GET', path: '/x' })).headers['x-marks'], 'b'),
    ))

  it('stops the boot with the route and the field if it is invalid', async () => {
    const bad = listing('/x', [{ key: 'own', handle: pass } as unknown as RouteMiddleware])
    await assert.rejects(
      createTestHost({ routes: [bad] }),
      /GET \/x of plugin ".*": a middleware in its "use": "handle" is not a known field/,
    )
    for (const entry of [undefined, null, 1, pass])
      await assert.rejects(createTestHost({ routes: [listing('/x', [entry as never])] }), /a middleware in its "use": it must be an object/)
  })
})
