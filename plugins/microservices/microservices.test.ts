import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import jsonwebtoken from 'jsonwebtoken'
import type { ActionEnd, ManagementAction } from 'zin'
import { jwt } from 'zin/plugins/jwt'
import { createHeaders } from 'zin/signer'
import { eventually } from '../../scripts/testing/eventually.js'
import { freePort } from '../../scripts/testing/free-port.js'
import { moduleText, serve } from './testing/servers.js'
import { servicesApp } from './testing/services-app.js'

const jwtSecret = 'a-secret-of-services-with-32-bytes!'
const boots = (t: Parameters<typeof servicesApp>[0], files: Record<string, string | object>, env = {}, options = {}) =>
  servicesApp(t, { files, env, options })

describe('services in folders', () => {
  it('are discovered, started in order on their ports, called, listed, stopped and started', async (t) => {
    const [users, orders] = [await freePort(), await freePort()]
    const { host, services } = await boots(t, {
      'shop/orders/service.config.json': {
        name: 'orders',
        domain: 'shop',
        version: '1.2.3',
        port: orders,
        description: 'Orders',
        dependencies: ['users'],
      },
      'shop/orders/index.mjs': moduleText(),
      'people/users/service.config.json': { name: 'users', port: users },
      'people/users/index.mjs': moduleText(),
      'people/notes.txt': 'not a service',
      'people/empty/readme.md': 'not a service',
    })
    const { data, headers, status } = await services.callService<Record<string, unknown>>('orders', { path: '/who?x=1' })
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /json/)
    assert.deepEqual([data.name, data.domain, data.version, data.port], ['orders', 'shop', '1.2.3', orders])
    const changes = host.recorded('onServiceChange').map(([change]) => change as { service: string; to: string })
    const running = changes.filter(({ to }) => to === 'running').map(({ service }) => service)
    assert.deepEqual(running, ['users', 'orders'])
    assert.deepEqual(
      services.list().map(({ name, state, version }) => [name, state, version]),
      [
        ['orders', 'running', '1.2.3'],
        ['users', 'running', '0.0.0'],
      ],
    )
    const listed = await host.inject({ path: '/api/services' })
    assert.deepEqual(listed.body, JSON.parse(JSON.stringify({ services: services.list() })))

    assert.equal((await services.stopService('users')).state, 'stopped')
    await assert.rejects(services.callService('users', { path: '/who' }), { code: 'SERVICE_NOT_RUNNING', status: 503 })
    await assert.rejects(fetch(`http://127.0.0.1:${users}/who`))
    assert.equal((await services.startService('users')).state, 'running')
    assert.equal((await services.startService('users')).state, 'running')
    assert.equal((await services.callService('users', { path: '/who' })).status, 200)
  })

  it('are discovered only with MICROSERVICES or its former name', async (t) => {
    const files = { 'a/b/service.config.json': { name: 'b', port: await freePort() }, 'a/b/index.mjs': moduleText() }
    assert.equal((await boots(t, files, { MICROSERVICES: 'false' })).services.list().length, 0)
    assert.equal((await boots(t, files, { MICROSERVICES: 'false', ENABLE_MICROSERVICES: 'true' })).services.list().length, 0)
    assert.equal((await boots(t, files, { MICROSERVICES: '', ENABLE_MICROSERVICES: 'true' })).services.list().length, 1)
  })

  it('can be excluded by SERVICES, and started later than the app', async (t) => {
    const config = async (name: string) => ({ name, port: await freePort() })
    const files = {
      'a/b/service.config.json': await config('b'),
      'a/b/index.mjs': moduleText(),
      'a/c/service.config.json': await config('c'),
      'a/c/index.mjs': moduleText(),
    }
    const { services } = await boots(t, files, { SERVICES: 'c' }, { autoStart: false })
    assert.deepEqual(
      services.list().map(({ name, state }) => [name, state]),
      [['c', 'registered']],
    )
    await assert.rejects(services.callService('c', { path: '/who' }), { code: 'SERVICE_NOT_RUNNING' })
    await assert.rejects(services.callService('b', { path: '/who' }), { code: 'SERVICE_NOT_REGISTERED', status: 404 })
    await assert.rejects(services.startService('b'), { code: 'SERVICE_NOT_REGISTERED' })
    await assert.rejects(services.stopService('b'), { code: 'SERVICE_NOT_REGISTERED' })
    await services.startService('c')
    assert.equal((await services.callService('c', { path: '/who' })).status, 200)
  })

  it('that cannot start are failed with a reason, and the app starts anyway', async (t) => {
    const files = {
      'a/broken/service.config.json': { name: 'broken', port: await freePort() },
      'a/broken/index.mjs': 'throw new Error("no database")',
      'a/missing/service.config.json': { name: 'missing', port: await freePort() },
      'a/nothing/service.config.json': { name: 'nothing', port: await freePort() },
      'a/nothing/index.mjs': 'export const x = 1',
    }
    const { services } = await boots(t, files)
    const reasons = Object.fromEntries(services.list().map(({ name, state, instances }) => [name, `${state}: ${instances[0]?.reason}`]))
    assert.match(reasons.broken ?? '', /^failed: no database/)
    assert.match(reasons.missing ?? '', /^failed: .* has no index.ts/)
    assert.match(reasons.nothing ?? '', /^failed: the default export of .* must be/)
    await assert.rejects(services.callService('broken', { path: '/' }), { code: 'SERVICE_NOT_RUNNING' })
    await assert.rejects(services.startService('missing'), { code: 'SERVICE_START_FAILED', status: 502 })
  })

  it('refuse to boot, listing all invalid values at once', async (t) => {
    const files = {
      'a/b/service.config.json': {
        name: 'B!',
        version: 'one',
        port: 99_999,
        dependencies: 'x',
        auth: { strategy: 'password' },
        database: { isolation: 'private', migrations: 'yes' },
        tracing: { enabled: 1, samplingRate: 2 },
        healthCheck: 7,
        colour: 'red',
      },
      'a/c/service.config.json': '{"name": "c"',
      'a/d/service.config.json': { name: 'd', domain: 'e' },
      'a/E/service.config.json': { name: 'e' },
    }
    await assert.rejects(boots(t, files), (error: Error) => {
      assert.match(JSON.stringify(error, Object.getOwnPropertyNames(error)), /SERVICE_CONFIG_INVALID/)
      const text =
        JSON.stringify(error, Object.getOwnPropertyNames(error)) +
        String((error as { details?: unknown }).details && JSON.stringify((error as { details?: unknown }).details))
      for (const part of [
        'name must match',
        'version must',
        'port must be <= 65535',
        'dependencies must be array',
        'auth.strategy must be one of',
        'database.isolation must be one of',
      ])
        assert.ok(text.includes(part), `${part} in ${text}`)
      for (const part of [
        'database.migrations must',
        'tracing.enabled must',
        'tracing.samplingRate must',
        'healthCheck must',
        'colour is not a known field',
        'a/c/service.config.json: is not JSON',
        'domain is',
        'the names of its folders must be',
      ])
        assert.ok(text.includes(part), `${part} in ${text}`)
      return true
    })
  })
})

describe('auth strategies of services', () => {
  const secured = async (t: Parameters<typeof servicesApp>[0], strategy: string, env = {}, options = {}) => {
    const port = await freePort()
    const files = {
      'a/safe/service.config.json': { name: 'safe', port, auth: { strategy } },
      'a/safe/index.mjs': moduleText(
        `{ method: 'POST', path: '/echo', summary: 'Echo', bodyType: 'raw', handler: ({ input }) => ({ size: input.body.length }) },`,
      ),
    }
    return { ...(await boots(t, files, env, options)), url: `http://127.0.0.1:${port}` }
  }
  const statusOf = async (url: string, headers: Record<string, string> = {}): Promise<number> => (await fetch(url, { headers })).status

  it('api-key: calls of the app carry it, requests without it are refused', async (t) => {
    const { services, url } = await secured(t, 'api-key', { SERVICE_API_KEY: 'the-key' })
    assert.equal((await services.callService('safe', { path: '/who' })).status, 200)
    const refused = await fetch(`${url}/who`)
    assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [401, 'SERVICE_UNAUTHORIZED'])
    assert.equal(await statusOf(`${url}/who`, { 'x-api-key': 'the-ke' }), 401)
    assert.equal(await statusOf(`${url}/who`, { 'x-api-key': 'the-key' }), 200)
    assert.equal(await statusOf(`${url}/who`, { authorization: 'Bearer the-key' }), 200)
    assert.equal(await statusOf(`${url}/nowhere`), 401)
    assert.equal(await statusOf(`${url}/health`), 200)
  })

  it('jwt: forged, expired and unsigned tokens, and tokens for other services or without exp, are refused', async (t) => {
    const { services, url } = await secured(t, 'jwt', { SERVICE_JWT_SECRET: jwtSecret })
    assert.equal((await services.callService('safe', { path: '/who' })).status, 200)
    const bearer = (claims: object, secret = jwtSecret, options: jsonwebtoken.SignOptions = {}) => ({
      authorization: `Bearer ${jsonwebtoken.sign(claims, secret, options)}`,
    })
    const exp = Math.floor(Date.now() / 1000) + 60
    assert.equal(await statusOf(`${url}/who`, bearer({ aud: 'safe', exp })), 200)
    for (const headers of [
      {},
      { authorization: 'Bearer x.y.z' },
      bearer({ aud: 'safe', exp }, 'another-secret-of-services-32-bytes'),
      bearer({ aud: 'safe', exp: exp - 3600 }),
      bearer({ aud: 'other', exp }),
      bearer({ exp }),
      bearer({ aud: 'safe' }),
      bearer({ aud: 'safe', exp: exp + 1_000_000 }),
      bearer({ aud: 'safe', exp }, jwtSecret, { algorithm: 'HS512' }),
      bearer({ aud: 'safe', exp }, '', { algorithm: 'none' }),
    ])
      assert.equal(await statusOf(`${url}/who`, headers), 401, JSON.stringify(headers))
  })

  it('signed: a request is accepted once, unmodified, and by its service only', async (t) => {
    const { services, url } = await secured(t, 'signed', { SERVICE_SIGNING_SECRET: 'signing' })
    assert.deepEqual((await services.callService('safe', { method: 'POST', path: '/echo?x=1', body: { a: 1 } })).data, { size: 7 })
    assert.equal((await services.callService('safe', { path: '/who' })).status, 200)
    assert.equal(await statusOf(`${url}/who`), 401)
    assert.equal(await statusOf(`${url}/who`, await createHeaders({ method: 'GET', url: '/who', keyId: 'x', secret: 'signing' })), 401)
    const sent: Record<string, string>[] = []
    const eavesdropper = await serve(t, ({ headers }, response) => {
      sent.push(Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-sig-'))) as Record<string, string>)
      response.end()
    })
    const second = await boots(
      t,
      {},
      { SERVICE_SIGNING_SECRET: 'signing' },
      { services: { safe: { url: eavesdropper.url, auth: 'signed' }, other: { url: eavesdropper.url, auth: 'signed' } } },
    )
    await second.services.callService('safe', { path: '/who' })
    await second.services.callService('other', { path: '/who' })
    const [forSafe = {}, forOther = {}] = sent
    assert.equal(await statusOf(`${url}/who`, forOther), 401)
    assert.equal(await statusOf(`${url}/health2`, forSafe), 401)
    assert.equal(await statusOf(`${url}/who`, forSafe), 200)
    assert.equal(await statusOf(`${url}/who`, forSafe), 401)
  })

  it('custom: functions of the app create and verify credentials', async (t) => {
    const seen: unknown[] = []
    const options = {
      authenticate: (request: { service: string; path: string; headers: object }) => {
        seen.push([request.service, request.path])
        return (request.headers as Record<string, string>)['x-pass'] === 'open'
      },
      credentials: () => ({ 'X-Pass': 'open' }),
    }
    const { services, url } = await secured(t, 'custom', {}, options)
    assert.equal((await services.callService('safe', { path: '/who?y' })).status, 200)
    assert.deepEqual(seen, [['safe', '/who?y']])
    assert.equal(await statusOf(`${url}/who`, { 'x-pass': 'shut' }), 401)
  })

  it('none: anyone may call', async (t) => assert.equal(await statusOf(`${(await secured(t, 'none')).url}/who`), 200))

  const refusals: readonly (readonly [strategy: string, env: Record<string, string>, setting: RegExp])[] = [
    ['jwt', {}, /SERVICE_JWT_SECRET is empty, and service "safe"/],
    ['jwt', { SERVICE_JWT_SECRET: '   ' }, /SERVICE_JWT_SECRET is empty, and service "safe"/],
    ['api-key', { SERVICE_API_KEY: '' }, /SERVICE_API_KEY is empty, and service "safe"/],
    ['signed', {}, /SERVICE_SIGNING_SECRET is empty, and service "safe"/],
    ['custom', {}, /service "safe" has the strategy custom, and the option credentials is missing/],
  ]
  for (const [strategy, env, pattern] of refusals)
    it(`${strategy} refuses to boot with ${JSON.stringify(env)}`, (t) =>
      assert.rejects(secured(t, strategy, env), (error) =>
        pattern.test(String((error as Error).message) + JSON.stringify((error as { details?: unknown }).details).replaceAll('\\"', '"')),
      ))
})

describe('registered services', () => {
  it('are called at their address, with the given method, path, body and headers', async (t) => {
    const seen: unknown[] = []
    const remote = await serve(t, async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      seen.push([request.method, request.url, body, request.headers['content-type'], request.headers['x-a']])
      response.writeHead(request.url === '/gone' ? 410 : 200, { 'content-type': 'text/plain', 'x-b': 'c' }).end('hello')
    })
    const { services } = await boots(t, {}, {}, { services: { remote: { url: remote.url } } })
    const { status, headers, data } = await services.callService('remote', {
      method: 'PUT',
      path: '/x?y=1',
      body: { a: 1 },
      headers: { 'X-A': 'b' },
    })
    assert.deepEqual([status, headers['x-b'], data], [200, 'c', 'hello'])
    assert.deepEqual(seen[0], ['PUT', '/x?y=1', '{"a":1}', 'application/json', 'b'])
    assert.equal((await services.callService('remote', { path: '/gone' })).status, 410)
    await services.callService('remote', { method: 'POST', path: '/', body: 'text' })
    await services.callService('remote', { method: 'POST', path: '/', body: new Uint8Array([65]), headers: { 'content-type': 'x/y' } })
    assert.deepEqual(seen.slice(2), [
      ['POST', '/', 'text', 'text/plain; charset=utf-8', undefined],
      ['POST', '/', 'A', 'x/y', undefined],
    ])
  })

  it('cannot be redirected to another host', async (t) => {
    let evil = 0
    const other = await serve(t, (_request, response) => void response.end(String(++evil)))
    const remote = await serve(t, (_request, response) => void response.writeHead(302, { location: other.url }).end())
    const { services } = await boots(t, {}, {}, { services: { remote: { url: remote.url } } })
    for (const path of ['//evil', other.url, `//127.0.0.1:${other.port}/`, '/..%2f', `@127.0.0.1:${other.port}/`, '/redirects'])
      await assert.rejects(services.callService('remote', { path }), { code: 'SERVICE_INVALID_TARGET', status: 400 }, path)
    await assert.rejects(services.callService('remote', { path: '/', headers: { host: 'evil' } }), { code: 'SERVICE_INVALID_TARGET' })
    assert.equal(evil, 0)
  })

  it('fail with typed errors: no server, no response, response too large', async (t) => {
    const remote = await serve(t, ({ url }, response) => {
      if (url === '/large') response.end('x'.repeat(2000))
      if (url === '/chunks') for (let n = 0; n < 20; n++) response.write('x'.repeat(100))
      if (url === '/drop') response.destroy()
      if (url === '/cut') response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy())
    })
    const dead = await freePort()
    const { services } = await boots(
      t,
      {},
      {},
      { maxResponseBytes: 1000, services: { remote: { url: remote.url }, dead: { url: `http://127.0.0.1:${dead}` } } },
    )
    await assert.rejects(services.callService('remote', { path: '/silent', timeout: 50 }), { code: 'SERVICE_TIMEOUT', status: 504 })
    await assert.rejects(services.callService('remote', { path: '/large' }), { code: 'SERVICE_RESPONSE_TOO_LARGE', status: 502 })
    await assert.rejects(services.callService('remote', { path: '/chunks' }), { code: 'SERVICE_RESPONSE_TOO_LARGE' })
    for (const [name, path, sent] of [
      ['remote', '/cut', true],
      ['remote', '/drop', true],
      ['dead', '/', false],
    ] as const) {
      const failure = { code: 'SERVICE_UNREACHABLE', status: 502, details: { sent } }
      await assert.rejects(services.callService(name, { method: 'POST', path, body: {} }), failure, path)
    }
  })

  it('are listed, started, stopped and called by operators', async (t) => {
    const remote = await serve(t, (_request, response) => void response.setHeader('content-type', 'application/json').end('{"ok":true}'))
    const { host, services } = await boots(t, {}, {}, { services: { remote: { url: remote.url } } })
    const call = (path: string, body = {}) => host.inject({ method: 'POST', path, body })
    assert.deepEqual((await call('/api/services/remote/call', { path: '/x' })).body.data, { ok: true })
    assert.equal((await call('/api/services/nobody/call', { path: '/x' })).status, 404)
    assert.equal((await call('/api/services/remote/call', { path: '//x' })).body.code, 'SERVICE_INVALID_TARGET')
    await call('/api/services/remote/call', { method: 'GET', path: '/y?token=secret' })
    const calls = host
      .recorded('onManagementAction')
      .map(([action, end]) => ({ ...(action as object), ...(end as object) }) as ActionEnd & ManagementAction)
    assert.deepEqual(
      calls.map(({ action, after, outcome, target }) => [action, target, outcome, (after as { readonly path?: string } | undefined)?.path]),
      [
        ['service.call', 'service:remote', 'done', '/x'],
        ['service.call', 'service:nobody', 'failed', undefined],
        ['service.call', 'service:remote', 'failed', undefined],
        ['service.call', 'service:remote', 'done', '/y'],
      ],
    )
    assert.equal((await call('/api/services/remote/stop')).body.service.state, 'stopped')
    assert.equal(services.list()[0]?.state, 'stopped')
    assert.equal((await call('/api/services/remote/start')).body.service.state, 'running')
    const guarded = await servicesApp(t, { plugins: [jwt()], env: { OPS_AUTH: 'required', JWT_SECRET: jwtSecret } })
    const routes = [
      ['GET', '/api/services'],
      ['POST', '/api/services/remote/start'],
      ['POST', '/api/services/remote/stop'],
      ['POST', '/api/services/remote/call'],
    ] as const
    for (const [method, path] of routes) assert.equal((await guarded.host.inject({ method, path, body: { path: '/' } })).status, 401, path)
  })

  it('are health-checked at /health, or at the configured path', async (t) => {
    const asked = new Set<string>()
    const answer = async (name: string) =>
      serve(t, ({ url }, response) => {
        asked.add(`${name} ${url}`)
        response.end()
      })
    const [plain, own] = [await answer('plain'), await answer('own')]
    const health = { intervalMs: 20, failAfter: 2 }
    await boots(t, {}, {}, { health, services: { plain: { url: plain.url }, own: { url: own.url, healthCheck: '/live' } } })
    await eventually('both were asked', () => asked.size === 2)
    assert.deepEqual([...asked].sort(), ['own /live', 'plain /health'])
  })

  it('fail over: an unhealthy instance does not affect the others', async (t) => {
    const answers = { first: 200 }
    const first = await serve(t, (_request, response) => void response.writeHead(answers.first).end('first'))
    const second = await serve(t, (_request, response) => void response.setHeader('content-type', 'text/plain').end('second'))
    const health = { intervalMs: 20, timeoutMs: 2000, failAfter: 2, passAfter: 2 }
    const { host, services } = await boots(t, {}, {}, { health, services: { pair: { url: [first.url, second.url] } } })
    const states = () => services.list()[0]?.instances.map(({ state }) => state)
    assert.deepEqual(states(), ['running', 'running'])
    answers.first = 500
    await eventually('the first is unhealthy', () => states()?.[0] === 'unhealthy')
    for (let call = 0; call < 4; call++) assert.equal((await services.callService('pair', { path: '/' })).data, 'second')
    const [failover] = host.recorded('onServiceFailover')[0] as [{ instance: string; to: string[] }]
    assert.deepEqual([failover.instance, failover.to], ['pair-1', ['pair-2']])
    const decided = await host.inject({ path: '/api/decisions?subject=service:pair' })
    assert.equal(decided.body.decisions[0].kind, 'failover')
    answers.first = 200
    await eventually('the first runs again', () => states()?.[0] === 'running')
    second.close()
    await eventually('the second is unhealthy', () => states()?.[1] === 'unhealthy')
    first.close()
    await eventually('both are', () => services.list()[0]?.state === 'unhealthy')
    await assert.rejects(services.callService('pair', { path: '/' }), { code: 'SERVICE_NOT_RUNNING' })
  })
})
