import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Plugin } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { ops, opsService } from 'zin/plugins/ops'
import { createHeaders } from 'zin/signer'
import { createTestHost, type TestHost } from 'zin/testing'

const sharedSecret = 'shared-0123456789abcdefghijklmnop'
const env = { APP_KEY: 'app-key-0123456789abcdefghijklmnop', BULLETPROOF_SIGNING_SECRET: sharedSecret }
const json = { 'content-type': 'application/json' }

interface App {
  readonly host: TestHost
  status(method: string, headers?: Readonly<Record<string, string | undefined>>): Promise<number>
  token(claims: Readonly<Record<string, unknown>>): Promise<Record<string, string>>
  signed(method: string, keyId?: string, secret?: string): Promise<Record<string, string>>
}

/** The end of the current second, in which the app started: `created` is in whole seconds. */
const signedSoon = () => ({ profile: 'rfc9421', timestamp: Math.ceil(Date.now() / 1000) * 1000 }) as const

interface AppOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly options?: Parameters<typeof ops>[0]
  readonly plugins?: readonly Plugin[]
  readonly bind?: string
  readonly allowedHosts?: readonly string[]
  readonly listen?: boolean
}

async function withApp(given: AppOptions, test: (app: App) => Promise<void>): Promise<void> {
  let host: TestHost
  const handler = (ctx: object) => {
    const service = host.service(opsService)
    assert.deepEqual(service.actor(), service.access(ctx as never)?.actor)
    return { access: service.access(ctx as never), deploy: service.allow(ctx as never, 'workers:deploy') }
  }
  const route = (method: 'GET' | 'POST', path: string) => ({
    method,
    path,
    summary: 'x',
    use: path === '/unguarded' ? [] : ['ops'],
    handler,
  })
  host = await createTestHost({
    env: { ...env, ...given.env },
    plugins: [...(given.plugins ?? [jwt(), bulletproof()]), ops(given.options)],
    routes: [route('GET', '/api/workers'), route('POST', '/api/workers'), route('GET', '/unguarded')],
    app: {
      ...(given.bind === undefined ? {} : { host: given.bind }),
      ...(given.allowedHosts === undefined ? {} : { allowedHosts: given.allowedHosts }),
    },
    listen: given.listen ?? false,
  })
  const app: App = {
    host,
    status: async (method, headers = {}) =>
      (await host.inject({ method, path: '/api/workers', headers: { ...headers } as Record<string, string> })).status,
    token: async (claims) => ({ authorization: `Bearer ${(await host.service(tokensService).issue(claims)).token}` }),
    signed: async (method, keyId = 'zin-cli', secret = sharedSecret) => ({
      host: '127.0.0.1',
      ...(await createHeaders({ ...signedSoon(), method, url: 'http://127.0.0.1/api/workers', keyId, secret })),
    }),
  }
  try {
    await test(app)
  } finally {
    await host.stop()
  }
}

describe('ops in auto mode on a loopback bind', () => {
  it('lets local callers read, and make changes that no form of another site can make', () =>
    withApp({}, async (app) => {
      assert.equal(app.host.service(opsService).mode, 'open')
      assert.equal(await app.status('GET'), 200)
      for (const headers of [
        {},
        json,
        { 'content-type': 'application/json; charset=utf-8' },
        { 'content-type': 'text/plain', 'x-requested-with': 'zin-cli' },
        { 'content-type': 'text/plain', authorization: 'Bearer x' },
        await app.signed('POST'),
      ]) {
        assert.equal(await app.status('POST', headers), 200)
      }
    }))

  it('refuses what a form or a page of another site can send', () =>
    withApp({}, async (app) => {
      for (const headers of [
        { 'content-type': 'text/plain' },
        { 'content-type': 'application/x-www-form-urlencoded' },
        { 'content-type': 'multipart/form-data' },
        { 'content-type': 'text/plain; application/json' },
      ]) {
        assert.equal(await app.status('POST', headers), 403, JSON.stringify(headers))
      }
      for (const origin of ['http://evil.test', 'null', 'http://localhost:1', 'http://127.0.0.1.evil.test']) {
        assert.equal(await app.status('GET', { origin }), 403, origin)
        for (const headers of [json, {}]) assert.equal(await app.status('POST', { ...headers, origin }), 403, origin)
      }
      for (const site of ['cross-site', 'same-site'])
        for (const method of ['GET', 'POST']) assert.equal(await app.status(method, { 'sec-fetch-site': site }), 403, site)
      for (const site of ['same-origin', 'none']) assert.equal(await app.status('GET', { 'sec-fetch-site': site }), 200, site)
    }))

  it('accepts only loopback names with its own port', () =>
    withApp({ listen: true }, async (app) => {
      const { port } = new URL(app.host.url)
      for (const name of ['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST'])
        assert.equal(await app.status('GET', { host: `${name}:${port}` }), 200, name)
      for (const name of ['evil.test', `127.0.0.1.evil.test:${port}`, `evil.test:${port}`, '127.0.0.1:1', '127.0.0.2'])
        assert.equal(await app.status('GET', { host: name }), 421, name)
      const own = { host: `localhost:${port}`, origin: `http://localhost:${port}` }
      assert.equal(await app.status('POST', { ...json, ...own }), 200)
      assert.equal(await app.status('POST', { ...json, ...own, origin: `http://127.0.0.1:${port}` }), 403)
    }))

  it('accepts only loopback names, whatever other names the app has', () =>
    withApp({ allowedHosts: ['app.test', 'localhost'] }, async (app) => {
      assert.equal(await app.status('GET', { host: 'localhost' }), 200)
      assert.equal(await app.status('GET', { host: 'app.test' }), 421)
    }))

  it('requires credentials for a forwarded request', () =>
    withApp({}, async (app) => {
      for (const name of [
        ...[
          'forwarded',
          'via',
          'x-real-ip',
          'x-client-ip',
          'x-cluster-client-ip',
          'true-client-ip',
          'cf-connecting-ip',
          'fastly-client-ip',
        ],
        ...[
          'cdn-loop',
          'x-forwarded',
          'x-forwarded-for',
          'x-forwarded-host',
          'x-forwarded-port',
          'X-Forwarded-Proto',
          'x-forwarded-prefix',
        ],
      ]) {
        assert.equal(await app.status('GET', { [name]: '203.0.113.9' }), 401, name)
        assert.equal(await app.status('GET', { [name]: '203.0.113.9', ...(await app.signed('GET')) }), 200, name)
      }
    }))

  it('requires no other plugin', () => withApp({ plugins: [] }, async (app) => assert.equal(await app.status('GET'), 200)))
})

const required: AppOptions = { env: { OPS_AUTH: 'required' } }

describe('ops in required mode', () => {
  it('refuses every caller without credentials with the same response', () =>
    withApp(required, async (app) => {
      const { authorization } = await app.token({ sub: '1', role: 'admin' })
      const tries = [
        {},
        { authorization: 'x' },
        { authorization: 'Basic YTpi' },
        { authorization: `${authorization}x` },
        await app.signed('GET', 'zin-cli', 'wrong'),
        await app.signed('POST'),
      ]
      const responses = new Set<string>()
      for (const headers of tries) {
        const { status, text } = await app.host.inject({ path: '/api/workers', headers })
        responses.add(`${status} ${text}`)
      }
      assert.equal(responses.size, 1)
      assert.match([...responses][0] ?? '', /^401 .*"code":"UNAUTHORIZED"/)
    }))

  it('accepts a request signed with the shared secret, once', () =>
    withApp(required, async (app) => {
      const headers = await app.signed('GET')
      const first = await app.host.inject({ path: '/api/workers', headers })
      assert.deepEqual(first.body, { access: { kind: 'signed', actor: { kind: 'key', id: 'zin-cli', via: 'http' } }, deploy: true })
      assert.equal(await app.status('GET', headers), 401)
    }))

  it('refuses a request without a token that does not sign its host, and one that is signed for another host', () =>
    withApp({ ...required, bind: '0.0.0.0' }, async (app) => {
      const v1 = await createHeaders({ method: 'GET', url: '/api/workers', keyId: 'zin-cli', secret: sharedSecret })
      assert.equal(await app.status('GET', v1), 401)
      const signed = await app.signed('GET')
      for (const host of ['staging.test', '127.0.0.1:7777']) assert.equal(await app.status('GET', { ...signed, host }), 401, host)
      assert.equal(await app.status('GET', signed), 200)
    }))

  it('accepts the shared secret with any key id, also the id of a device, but not a device secret', () =>
    withApp(required, async (app) => {
      const { device, secret } = await app.host.service(devicesService).enroll({ userId: '1', deviceId: 'laptop' })
      assert.equal(await app.status('GET', await app.signed('GET', device.deviceId)), 200)
      assert.equal(await app.status('GET', await app.signed('GET', device.deviceId, secret)), 401)
    }))

  it('accepts a token without a device by its role', () =>
    withApp(required, async (app) => {
      const admin = await app.host.inject({ path: '/api/workers', headers: await app.token({ sub: '1', role: 'admin' }) })
      assert.deepEqual(admin.body, {
        access: { kind: 'token', actor: { kind: 'user', id: '1', via: 'http' }, role: 'admin' },
        deploy: true,
      })
      for (const role of ['user', undefined, 'Admin', ['admin']]) {
        const refused = await app.host.inject({ path: '/api/workers', headers: await app.token({ sub: '1', role }) })
        assert.deepEqual([refused.status, refused.body.code], [403, 'FORBIDDEN'])
      }
    }))

  it('accepts the token of a device only with the signature of that device', () =>
    withApp(required, async (app) => {
      const { device, secret } = await app.host.service(devicesService).enroll({ userId: '1' })
      const token = await app.token({ sub: '1', role: 'admin', deviceId: device.deviceId })
      const v1 = { method: 'GET', url: '/api/workers', keyId: device.deviceId }
      const signed = await createHeaders({ ...v1, secret })
      assert.equal(await app.status('GET', token), 401)
      assert.equal(await app.status('GET', { ...token, ...(await createHeaders({ ...v1, secret: 'wrong' })) }), 401)
      const { body } = await app.host.inject({ path: '/api/workers', headers: { ...token, ...signed, 'x-requested-with': 'zin-cli' } })
      assert.deepEqual(body.access.actor, { kind: 'user', id: '1', device: device.deviceId, via: 'cli' })
      assert.equal(await app.status('GET', { ...token, ...signed }), 401)
    }))

  it('refuses a revoked token', () =>
    withApp(required, async (app) => {
      const tokens = app.host.service(tokensService)
      const { token, claims } = await tokens.issue({ sub: '1', role: 'admin' })
      assert.equal(await app.status('GET', { authorization: `Bearer ${token}` }), 200)
      await tokens.revoke(claims)
      assert.equal(await app.status('GET', { authorization: `Bearer ${token}` }), 401)
    }))

  it('refuses the token of a device when no plugin can verify its signature', () =>
    withApp({ ...required, plugins: [jwt()] }, async (app) => {
      assert.equal(await app.status('GET', await app.token({ sub: '1', role: 'admin' })), 200)
      assert.equal(await app.status('GET', await app.token({ sub: '1', role: 'admin', deviceId: 'laptop' })), 401)
      assert.equal(await app.status('GET', await app.signed('GET')), 401)
    }))

  it('grants permissions by role', () =>
    withApp({ ...required, options: { roles: ['admin', 'operator'], permissions: { 'workers:deploy': ['admin'] } } }, async (app) => {
      const deploy = async (role: string): Promise<unknown> =>
        (await app.host.inject({ path: '/api/workers', headers: await app.token({ sub: '1', role }) })).body.deploy
      assert.deepEqual([await deploy('admin'), await deploy('operator')], [true, false])
    }))

  it('grants no permission on an unguarded route', () =>
    withApp(required, async (app) => {
      const { body } = await app.host.inject({ path: '/unguarded', headers: await app.signed('GET') })
      assert.deepEqual(body, { deploy: false })
    }))
})

describe('the mode of ops', () => {
  const modeOf = async (options: AppOptions): Promise<string> => {
    let mode = ''
    await withApp(options, async (app) => {
      mode = app.host.service(opsService).mode
    })
    return mode
  }
  const production = { NODE_ENV: 'production', APP_KEY: 'k'.repeat(40), BULLETPROOF_SIGNING_SECRET: 's'.repeat(40) }

  it('is required in production and on a bind that other machines can reach', async () => {
    assert.equal(await modeOf({ env: production }), 'required')
    assert.equal(await modeOf({ bind: '0.0.0.0' }), 'required')
    assert.equal(await modeOf({ bind: '192.0.2.1' }), 'required')
    assert.equal(await modeOf({ env: { OPS_AUTH: 'open' } }), 'open')
  })

  it('cannot be open there, and requires a plugin that checks credentials', async () => {
    await assert.rejects(modeOf({ env: { ...production, OPS_AUTH: 'open' } }), /OPS_AUTH=open is refused in production/)
    await assert.rejects(modeOf({ env: { OPS_AUTH: 'open' }, bind: '0.0.0.0' }), /OPS_AUTH=open is refused on 0\.0\.0\.0/)
    await assert.rejects(modeOf({ env: { OPS_AUTH: 'required' }, plugins: [] }), /OPS_AUTH is required, so callers need credentials/)
    await assert.rejects(modeOf({ env: { OPS_AUTH: 'maybe' } }), /OPS_AUTH=maybe: expected one of auto, required, open/)
  })
})

describe('the OpenAPI document', () => {
  const use = { ops: ['ops'], token: ['auth'], signed: ['auth', 'bulletproof'] } as const
  const document = async (plugins: readonly Plugin[], names: readonly (keyof typeof use)[], prefix = 'x-sig-') => {
    const routes = names.map((name) => ({ method: 'GET', path: `/${name}`, summary: 'x', use: use[name], handler: () => ({}) }) as const)
    const host = await createTestHost({ env: { ...env, SIGNATURE_HEADER_PREFIX: prefix }, plugins, routes })
    const { body } = await host.inject({ path: '/openapi.json' })
    await host.stop()
    const schemes = body.components.securitySchemes ?? {}
    return {
      security: names.map((name) => body.paths[`/${name}`].get.security),
      names: Object.keys(schemes),
      header: schemes.signature?.name,
    }
  }

  it('describes the credentials of each guard, with the header names of the app', async () => {
    const [bearer, signature] = [{ bearer: [] }, { signature: [] }]
    const both = { ...bearer, ...signature }
    assert.deepEqual(await document([jwt(), bulletproof(), ops()], ['ops', 'token', 'signed'], 'x-own-'), {
      security: [[signature, bearer, both], [bearer], [both]],
      names: ['bearer', 'signature'],
      header: 'x-own-signature',
    })
    assert.deepEqual(await document([jwt(), ops()], ['ops']), { security: [[bearer]], names: ['bearer'], header: undefined })
    assert.deepEqual(await document([ops()], ['ops']), { security: [undefined], names: [], header: undefined })
  })
})
